// Which rewrite is to blame. A look first: both sides of every rewrite of the failing compilation are evaluated in REF
// (lib/validate/rewrite_equivalence.h). Where no look tells, a search: the first stage, and the first of its rewrites, after which
// the graph computes something else.
#pragma once
#include <optional>
#include <vector>

#include "lib/bisect/evaluate_rewrites.h"
#include "lib/bisect/failure_repro.h"
#include "lib/trace/applications.h"

namespace tgc {

// An application that is under suspicion, with texts that outlive its graph.
struct Suspect {
  uint64_t number, in_stage;
  const StageRow* stage;
  const Rule* rule;
  const char* branch;
  int depth;
  EquivalenceResult seen;
  std::string before, after;  // as they are shown
  std::string whole_before;
  std::string beyond;  // a constant of it that its dtype does not hold; empty: there is none
  std::string unlike;  // of sides that are unlike: how
};

// A node as a tree of that depth, short enough to be read: of lines that are the same one, the end of a long one left
// out.
std::string tree_text(UOp u, int depth);

// Names it in a report: stage, rule, branch, location, number, both sides.
void name_suspect(const Suspect& s, BisectReport& report);
void name_application(const Application& a, BisectReport& report);

// How it is known that a rewrite is to blame.
enum class Proof : uint8_t {
  None,
  ByRun,    // the run passes when it alone is left out
  ByRule,   // the run passes when its rule is left out
  ByGraph,  // in REF the graph is right before it and wrong after it
  ByStage,  // in REF the graph after its stage is right when it alone is left out, else wrong
};

class RewriteBlame {
 public:
  RewriteBlame(FailureRepro& run, BisectReport& report) : run_(run), report_(report), compilation_(run.begin()) {}

  // Compiles it watched.
  Outcome compile();
  // Compiles it watched and runs what comes out; if that fails, compares both sides of every rewrite.
  Outcome look();
  // Whether a suspect of the look is to blame, or two of them together; the report then says so.
  bool accuse_suspect();
  // Of a compilation that does not end: whether a rewrite whose sides differ makes it so; the report then says that.
  bool accuse_of_endless();
  // The search; the report may name the first wrong stage alone.
  bool search();
  // Whether the graph computes what is expected after every stage, and the linear list.
  bool all_right() const { return all_right_; }
  const std::vector<UOp>& list() { return list_; }  // of the watched compilation; empty: it was refused
  const ApplicationLog& log() const { return log_; }

 private:
  void compare(std::span<const Application> list);
  Proof confirm(const Suspect& s);
  Proof proof_without(const Suspect& s);
  Proof proof_without_rule(const Suspect& s);
  bool is_in_first_wrong_stage(const Suspect& s);
  bool ends_wrong(const StageRow* stage);
  void accuse_within(const Suspect& whole, Proof proof);
  bool makes_the_same(size_t i) const;
  void look_closer(size_t first, size_t end);
  std::optional<Suspect> nearly_same_by_rule();
  std::optional<Suspect> part_by_rule(const Suspect& whole, size_t first, size_t end);
  bool accuse_unlike();
  bool accuse_two();
  bool accuse_two(const Suspect& first, const Suspect& second);
  const Suspect* partner_of(const Suspect& s);
  bool accuse_only_rule();
  Outcome without(const Suspect& s, const Suspect* second = nullptr);
  Outcome stage_without(const Suspect& s);
  void accuse(const Suspect& s, Proof proof);
  Outcome run_graph(UOp root);
  Outcome run_after(const TopRewrite& r, size_t n);
  bool search_stage(const StageRow* stage);

  FailureRepro& run_;
  BisectReport& report_;
  ApplicationLog log_;
  Compilation compilation_;
  std::vector<UOp> list_;
  std::map<uint32_t, Outcome> graphs_;  // of that compilation, by id of the sink
  std::vector<EquivalenceResult> seen_;  // of the log's list, as far as it was compared; empty: it was not
  std::vector<Suspect> suspects_;
  bool all_right_ = false;
};

}  // namespace tgc
