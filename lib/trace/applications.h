// The applications of rules in one compilation, one by one: what they made, and the same again without some of them. An
// application's number is its place among all of the compilation, rewrites inside rules too, from 1. The pipeline is
// deterministic, so a number means the same in every compilation of the same graph, up to the first that is left out.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/rewrite/intervention.h"
#include "lib/rewrite/rewrite.h"

namespace tgc {

// Where a rule stands: "passes/symbolic/simple.cpp:131".
inline std::string location_of(const Rule& rule) {
  return std::string(short_file(rule)) + ":" + std::to_string(rule.line);
}

struct Application {
  const StageRow* stage;   // null: before the first
  const Rule* rule;
  const char* branch;      // null: the rule has but one folding
  uint64_t number;         // of all
  uint64_t in_stage;       // of that rule in that stage, from 1
  int depth;               // 0: the stage's own rewrites
  UOp before, after;
  UOp told;                // of a substitution: what it was told to replace `before` by
  std::string_view within; // the rewrite's name
  uint32_t made_from;      // how many nodes the graph had when the rule was tried
};

// The place of the first application that is a part of the one at `whole`: those up to it are rewrites inside its rule.
// `whole` itself: it has none. What was rewritten before its rule was tried was for another one, which then declined.
inline size_t first_part_of(std::span<const Application> list, size_t whole) {
  auto is_part = [&](const Application& a) {
    return a.depth > list[whole].depth && a.made_from >= list[whole].made_from;
  };
  size_t first = whole;
  while (first > 0 && is_part(list[first - 1])) first--;
  return first;
}

// A graph rewrite that a stage itself does, with the applications of its own (depth 0), a span of the list.
struct TopRewrite {
  const StageRow* stage;
  UOp input;
  bool bottom_up;
  std::vector<size_t> applications;  // their places in the list
  std::vector<UOp> gates;
};

// A stage that ran.
struct StageRun {
  const StageRow* row;
  UOp input, result;  // no result: it failed
};

// Counts the applications in one compilation, and hands on to whoever intervened before (a fault).
class ApplicationWatcher : public Watcher, public Intervention {
 public:
  void begin(Compilation& c) override {
    inner_ = intervention_of(c.graph());
    set_intervention(c.graph(), this);
  }
  void stage(const StageRow& row, UOp) override { stage_ = &row; }
  void end(Compilation& c) override { set_intervention(c.graph(), inner_); }
  UOp instead(const Hit& hit, UOp before, UOp after) override {
    if (inner_) after = inner_->instead(hit, before, after);
    number_++;
    return after ? decide(hit, before, after) : after;
  }

 protected:
  virtual UOp decide(const Hit&, UOp /*before*/, UOp after) { return after; }
  uint64_t number() const { return number_; }
  const StageRow* at() const { return stage_; }

 private:
  Intervention* inner_ = nullptr;
  const StageRow* stage_ = nullptr;
  uint64_t number_ = 0;
};

// Notes every application.
class ApplicationLog : public ApplicationWatcher, public RewriteObserver {
 public:
  // They are nodes of the compilation's graph, and last as long as it does.
  const std::vector<Application>& list() const { return list_; }
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
    UOp told;
    if (hit.rule == substitute_rules().rules()[0]) told = substitution_of(before.graph())->find(before);
    list_.push_back({at(), hit.rule, hit.branch, number(), ++in_stage_[hit.rule->name], int(names_.size()) - 1, before,
                     after, told, names_.back(), cost.made_from});
  }

 private:
  std::vector<Application> list_;
  std::vector<TopRewrite> rewrites_;
  std::vector<StageRun> stages_;
  std::map<std::string_view, uint64_t> in_stage_;
  std::vector<std::string_view> names_;  // of the rewrites that have begun
};

// Leaves out applications: those rules decline.
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
