// The rewrite log: the applications of rules in a pipeline. A rewrite has a number: its position among all rewrites of
// the pipeline, from 1, nested ones included. If a native compilation is repeated, the numbers are the same up to the
// first suppressed rewrite, because the native pipeline is deterministic.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/rewrite/rewrite_override.h"
#include "lib/rewrite/rewrite.h"

namespace tgc {

inline std::string location_of_rule(const Rule& rule) {
  return std::string(short_file_name(rule)) + ":" + std::to_string(rule.line);
}

// One application of a rule: it replaced the node `before` by `after`, both in the release's own nodes.
struct Rewrite {
  const StageRow* stage = nullptr;  // null outside of the stages
  const Rule* rule = nullptr;       // null if tinygrad made the rewrite
  const char* branch = nullptr;     // the branch (folding) of the rule that applied; null if the rule has only one
  uint64_t rewrite_number = 0;      // position among all rewrites of the pipeline, from 1
  uint64_t number_in_stage = 0;     // position among the rewrites by this rule in this stage, from 1
  // Depth of nesting: 0 in a graph rewrite that the stage starts, 1 in one that a rule of this graph rewrite starts. In
  // a recording, the number of rules that were running, which may be above 0 for all rewrites of a stage.
  int depth = 0;
  UOp before, after;
  UOp substitution_target = {};  // for a substitution by tgc: the replacement of `before`; else empty
  // the name of the graph rewrite that applied the rule; empty in recordings
  std::string_view graph_rewrite_name = {};
  uint32_t num_nodes_before = 0;        // number of nodes in the Graph when the rule was tried; 0 in recordings
  // tinygrad is known to have discarded this rewrite (mark_discarded() in recorded_rewrites.h).
  bool is_discarded = false;
  // for a rewrite by tinygrad: file and line of the rule, such as "uop/symbolic.py:217"
  std::string source_location = {};
};

inline std::string rule_name(const Rewrite& r) { return r.rule ? std::string(r.rule->name) : r.source_location; }

// Returns the index of the first rewrite nested in list[whole]; `whole` if there is none. The nested rewrites are those
// from this index up to `whole`. They include those nested in rules that declined just before, if the numbers of nodes
// do not tell them apart, as in recordings.
inline size_t first_nested_rewrite(std::span<const Rewrite> list, size_t whole) {
  auto is_part = [&](const Rewrite& a) {
    return a.depth > list[whole].depth && a.num_nodes_before >= list[whole].num_nodes_before;
  };
  size_t first = whole;
  while (first > 0 && is_part(list[first - 1])) first--;
  return first;
}

// A graph rewrite that a stage itself starts (depth 0).
struct TopLevelRewrite {
  const StageRow* stage;
  UOp input;
  bool bottom_up;
  std::vector<size_t> application_indices;  // its rewrites, as indices into RewriteLog::all_rewrites()
  std::vector<UOp> gated_nodes;             // nodes that a rule left unchanged with their sources
};

struct StageRun {
  const StageRow* row;
  UOp input, result;  // `result` is empty if the stage failed
};

// Counts the rewrites of a compilation, and may replace their results (decide_result). A RewriteOverride that the graph
// already has, such as a seeded fault, decides first.
class RuleApplicationObserver : public StageObserver, public RewriteOverride {
 public:
  void begin_compilation(Compilation& c) override {
    inner_override_ = rewrite_override_of(c.graph());
    set_rewrite_override(c.graph(), this);
  }
  void begin_stage(const StageRow& row, UOp) override { current_stage_ = &row; }
  void end_compilation(Compilation& c) override { set_rewrite_override(c.graph(), inner_override_); }
  UOp choose_result(const RuleHit& hit, UOp before, UOp after) override {
    if (inner_override_) after = inner_override_->choose_result(hit, before, after);
    rewrite_number_++;
    return after ? decide_result(hit, before, after) : after;
  }

 protected:
  virtual UOp decide_result(const RuleHit&, UOp /*before*/, UOp after) { return after; }
  uint64_t rewrite_number() const { return rewrite_number_; }
  const StageRow* current_stage() const { return current_stage_; }

 private:
  RewriteOverride* inner_override_ = nullptr;
  const StageRow* current_stage_ = nullptr;
  uint64_t rewrite_number_ = 0;
};

class RewriteLog : public RuleApplicationObserver, public RewriteObserver {
 public:
  // The UOps in these lists are valid until the graph of the compilation is freed.
  const std::vector<Rewrite>& all_rewrites() const { return all_rewrites_; }
  const std::vector<TopLevelRewrite>& top_rewrites() const { return top_rewrites_; }
  const std::vector<StageRun>& stage_runs() const { return stage_runs_; }

  void begin_compilation(Compilation& c) override {
    RuleApplicationObserver::begin_compilation(c);
    set_observer(c.graph(), this);
  }
  void begin_stage(const StageRow& row, UOp input) override {
    RuleApplicationObserver::begin_stage(row, input);
    counts_in_stage_.clear();
    stage_runs_.push_back({&row, input, {}});
  }
  void end_stage(const StageRow&, UOp result) override { stage_runs_.back().result = result; }
  void end_compilation(Compilation& c) override {
    set_observer(c.graph(), nullptr);
    RuleApplicationObserver::end_compilation(c);
  }
  void begin_rewrite(std::string_view name, UOp input, const RuleSet&, bool bottom_up) override {
    if (open_rewrite_names_.empty()) top_rewrites_.push_back({current_stage(), input, bottom_up, {}, {}});
    open_rewrite_names_.push_back(name);
  }
  void end_rewrite(std::string_view, UOp) override { open_rewrite_names_.pop_back(); }
  void on_node_gated(UOp node) override {
    if (open_rewrite_names_.size() == 1) top_rewrites_.back().gated_nodes.push_back(node);
  }
  void on_rule_applied(const RuleHit& hit, UOp before, UOp after, RuleCost cost) override {
    if (open_rewrite_names_.size() == 1) top_rewrites_.back().application_indices.push_back(all_rewrites_.size());
    UOp target;
    if (hit.rule == substitute_rules().rules()[0]) target = substitution_of(before.graph())->find_replacement(before);
    all_rewrites_.push_back({current_stage(),
                             hit.rule,
                             hit.branch,
                             rewrite_number(),
                             ++counts_in_stage_[hit.rule->name],
                             int(open_rewrite_names_.size()) - 1,
                             before,
                             after,
                             target,
                             open_rewrite_names_.back(),
                             cost.num_nodes_before,
                             false,
                             {}});
  }

 private:
  std::vector<Rewrite> all_rewrites_;
  std::vector<TopLevelRewrite> top_rewrites_;
  std::vector<StageRun> stage_runs_;
  std::map<std::string_view, uint64_t> counts_in_stage_;
  std::vector<std::string_view> open_rewrite_names_;  // of the graph rewrites in progress, the outermost first
};

// Suppresses rewrites as if their rules had not matched.
class RewriteVeto : public RuleApplicationObserver {
 public:
  using VetoPredicate = std::function<bool(uint64_t number, const RuleHit& hit, UOp before)>;
  explicit RewriteVeto(VetoPredicate leaves_out) : is_vetoed_(std::move(leaves_out)) {}

 protected:
  UOp decide_result(const RuleHit& hit, UOp before, UOp after) override {
    return is_vetoed_(rewrite_number(), hit, before) ? UOp() : after;
  }

 private:
  VetoPredicate is_vetoed_;
};

}  // namespace tgc
