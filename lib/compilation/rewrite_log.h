// The rewrite log: the applications of rules in a pipeline. RewriteLog records the rewrites of a compilation,
// read_rewrites() (recorded_rewrites.h) reads those of a recording, and Veto suppresses some rewrites of a compilation.
// A rewrite has a number: its position among all rewrites of the pipeline, from 1, nested ones included. Compilations
// of the same graph have the same numbers, up to the first suppressed rewrite, because the native pipeline is
// deterministic.
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

// Returns the file and line of a rule, for example "passes/symbolic/simple.cpp:131".
inline std::string location_of(const Rule& rule) {
  return std::string(short_file(rule)) + ":" + std::to_string(rule.line);
}

// One application of a rule: it replaced the node `before` by `after`, both in the release's own nodes.
struct Rewrite {
  const StageRow* stage = nullptr;  // null before the first stage
  const Rule* rule = nullptr;       // tgc's rule; null if tinygrad made the rewrite, whose rule is at `place`
  const char* branch = nullptr;     // the branch (folding) of the rule that applied; null if the rule has only one
  uint64_t number = 0;              // position among all rewrites of the pipeline, from 1
  uint64_t in_stage = 0;            // position among the rewrites by this rule in this stage, from 1
  // Depth of nesting: 0 in a graph rewrite that the stage starts, 1 in one that a rule of this graph rewrite starts,
  // and so on. In a recording, the number of rules that were running, which may be above 0 for all rewrites of a stage.
  int depth = 0;
  UOp before, after;
  UOp substitution_target = {};  // for a substitution: the replacement of `before`; else the empty UOp
  std::string_view within = {};  // name of the innermost graph rewrite that applied the rule; empty if unknown
  uint32_t made_from = 0;        // number of nodes in the graph when the rule was tried; 0 in recordings
  // True if tinygrad discarded the result of the graph rewrite that made this rewrite, because the rule that started
  // the graph rewrite declined.
  bool is_discarded = false;
  std::string place = {};  // for a rewrite by tinygrad: file and line of the rule, "uop/symbolic.py:217"; else empty
};
using Application = Rewrite;

// Returns the name of the rule: tgc's, such as "add-zero", or its file and line in tinygrad, "uop/symbolic.py:217".
inline std::string rule_name(const Rewrite& r) { return r.rule ? std::string(r.rule->name) : r.place; }

// Returns the index of the first rewrite nested in list[whole]; `whole` if there is none. All rewrites from this index
// up to `whole` are nested in list[whole]. Rewrites that another rule made before it declined do not count.
inline size_t first_part_of(std::span<const Rewrite> list, size_t whole) {
  auto is_part = [&](const Rewrite& a) {
    return a.depth > list[whole].depth && a.made_from >= list[whole].made_from;
  };
  size_t first = whole;
  while (first > 0 && is_part(list[first - 1])) first--;
  return first;
}

// A graph rewrite that a stage itself starts (depth 0).
struct TopRewrite {
  const StageRow* stage;
  UOp input;
  bool bottom_up;
  std::vector<size_t> applications;  // indices into RewriteLog::list() of the applications of depth 0
  std::vector<UOp> gates;  // nodes that it left unchanged, with all nodes below them (BottomUpGate)
};

// A stage that ran, with its input and result.
struct StageRun {
  const StageRow* row;
  UOp input, result;  // `result` is empty if the stage failed
};

// Base of watchers that count the rewrites of a compilation, and may replace their results (decide). A RewriteOverride
// that the graph already has, such as a seeded fault, decides first.
class ApplicationWatcher : public Watcher, public RewriteOverride {
 public:
  void begin(Compilation& c) override {
    inner_ = rewrite_override_of(c.graph());
    set_rewrite_override(c.graph(), this);
  }
  void stage(const StageRow& row, UOp) override { stage_ = &row; }
  void end(Compilation& c) override { set_rewrite_override(c.graph(), inner_); }
  UOp replace(const Hit& hit, UOp before, UOp after) override {
    if (inner_) after = inner_->replace(hit, before, after);
    number_++;
    return after ? decide(hit, before, after) : after;
  }

 protected:
  virtual UOp decide(const Hit&, UOp /*before*/, UOp after) { return after; }
  uint64_t number() const { return number_; }
  const StageRow* at() const { return stage_; }

 private:
  RewriteOverride* inner_ = nullptr;
  const StageRow* stage_ = nullptr;
  uint64_t number_ = 0;
};

// Records all rewrites of a compilation.
class RewriteLog : public ApplicationWatcher, public RewriteObserver {
 public:
  // The UOps in these lists are valid until the graph of the compilation is freed.
  const std::vector<Rewrite>& list() const { return list_; }
  const std::vector<TopRewrite>& rewrites() const { return rewrites_; }
  const std::vector<StageRun>& stages() const { return stages_; }

  void begin(Compilation& c) override {
    ApplicationWatcher::begin(c);
    set_observer(c.graph(), this);
  }
  void stage(const StageRow& row, UOp input) override {
    ApplicationWatcher::stage(row, input);
    in_stage_.clear();
    stages_.push_back({&row, input, {}});
  }
  void stage_end(const StageRow&, UOp result) override { stages_.back().result = result; }
  void end(Compilation& c) override {
    set_observer(c.graph(), nullptr);
    ApplicationWatcher::end(c);
  }
  void begin(std::string_view name, UOp input, const RuleSet&, bool bottom_up) override {
    if (names_.empty()) rewrites_.push_back({at(), input, bottom_up, {}, {}});
    names_.push_back(name);
  }
  void end(std::string_view, UOp) override { names_.pop_back(); }
  void gated(UOp node) override {
    if (names_.size() == 1) rewrites_.back().gates.push_back(node);
  }
  void rewritten(const Hit& hit, UOp before, UOp after, Cost cost) override {
    if (names_.size() == 1) rewrites_.back().applications.push_back(list_.size());
    UOp target;
    if (hit.rule == substitute_rules().rules()[0]) target = substitution_of(before.graph())->find(before);
    list_.push_back({at(), hit.rule, hit.branch, number(), ++in_stage_[hit.rule->name], int(names_.size()) - 1, before,
                     after, target, names_.back(), cost.made_from, false, {}});
  }

 private:
  std::vector<Rewrite> list_;
  std::vector<TopRewrite> rewrites_;
  std::vector<StageRun> stages_;
  std::map<std::string_view, uint64_t> in_stage_;
  std::vector<std::string_view> names_;  // names of the graph rewrites in progress, the outermost first
};

using ApplicationLog = RewriteLog;

// Suppresses each rewrite for which `leaves_out` returns true, as if the rule had not matched.
class Veto : public ApplicationWatcher {
 public:
  using Test = std::function<bool(uint64_t number, const Hit& hit, UOp before)>;
  explicit Veto(Test leaves_out) : leaves_out_(std::move(leaves_out)) {}

 protected:
  UOp decide(const Hit& hit, UOp before, UOp after) override {
    return leaves_out_(number(), hit, before) ? UOp() : after;
  }

 private:
  Test leaves_out_;
};

}  // namespace tgc
