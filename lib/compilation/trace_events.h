// The rewrite trace: events for the rewrites of the stages of kernels and tensor graphs, in order. TraceObserver
// (watchers.h), recorded pipelines and read_trace() (lib/trace/trace_file.h) send events to a TraceConsumer.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "lib/compilation/rule_sources.h"
#include "lib/rewrite/rewrite.h"
#include "lib/uop/graph.h"

namespace tgc {

// The rule of a rewrite. Its texts live as long as the trace.
struct TraceRule {
  std::string_view name, file;  // such as "add-zero" and "passes/symbolic/simple.cpp"
  uint32_t line = 0;
  // The branch (folding) of the rule that applied; empty if the rule has only one. In a recording, "discarded" for a
  // discarded rewrite (Rewrite::is_discarded).
  std::string_view branch = {};
  // File and line in tinygrad of one of tgc's own rules, such as "uop/symbolic.py:42". Usually empty in recordings,
  // whose rules have `file` and `line`.
  std::string_view source = {};
};

inline bool is_discarded(const TraceRule& rule) { return rule.branch == "discarded"; }
// Returns a name such as "add-zero" or, if TraceRule::branch is set, "divmod-general [cancel]".
inline std::string name_with_branch(const TraceRule& rule) {
  return std::string(rule.name) + (rule.branch.empty() ? "" : " [" + std::string(rule.branch) + "]");
}
// Returns a text such as "passes/symbolic/simple.cpp:131 (uop/symbolic.py:42)".
inline std::string locations_of_rule(const TraceRule& rule) {
  if (rule.file.empty()) return std::string(rule.source);
  return std::string(rule.file) + ":" + std::to_string(rule.line) +
         (rule.source.empty() ? "" : " (" + std::string(rule.source) + ")");
}

// Returns the name and the locations of the rule. In recordings, a rule's name is its location, which is not repeated.
inline std::string name_with_location(const TraceRule& rule) {
  const std::string place = locations_of_rule(rule);
  return rule.name == place ? place : name_with_branch(rule) + "  " + place;
}

struct TraceRewrite {
  std::string_view name, rule_set;
  size_t num_rules = 0;             // number of rules in the rule set; 0 if unknown
  bool bottom_up = false;
};

// The rule created the nodes numbered first_made_node_number to end_made_node_number - 1, and took `time_ns`
// nanoseconds.
struct TraceCost {
  static constexpr uint64_t kUnknownTime = UINT64_MAX;
  uint32_t first_made_node_number = 0, end_made_node_number = 0;
  uint64_t time_ns = kUnknownTime;
};

class TraceConsumer {
 public:
  virtual ~TraceConsumer() = default;

  // The target of a tensor graph is empty. The kernel's Graph may be freed after end_kernel() or abandon_kernel().
  virtual void begin_kernel(std::string_view /*id*/, std::string_view /*target*/, UOp /*ast*/) {}
  virtual void user_operation(std::string_view /*what*/) {}  // the user's operation and its program line
  virtual void end_kernel() {}
  virtual void abandon_kernel() {}  // in place of end_kernel() if a stage failed
  virtual void begin_stage(std::string_view /*name*/, UOp /*input*/) {}
  virtual void end_stage(UOp /*result*/) {}
  // `depth` is the number of graph rewrites around this one, which is 0 if a stage starts it.
  virtual void begin_rewrite(const TraceRewrite& /*rewrite*/, int /*depth*/, UOp /*input*/) {}
  virtual void end_rewrite(int /*depth*/, UOp /*result*/) {}  // `result` is empty if unknown or if the rewrite failed
  virtual void on_rule_applied(int /*depth*/, const TraceRule& /*rule*/, UOp /*before*/, UOp /*after*/,
                               TraceCost /*cost*/) {}
  virtual void on_node_rebuilt(int /*depth*/, UOp /*before*/, UOp /*after*/) {}
  virtual void on_node_gated(int /*depth*/, UOp /*node*/) {}

  // Returns the number of a node in the trace.
  uint32_t node_number(UOp u) const {
    const uint32_t* known = node_numbers_ ? node_numbers_->find(u) : nullptr;
    return known ? *known : u.id();
  }
  virtual void set_node_numbers(const UOpMap<uint32_t>* numbers) { node_numbers_ = numbers; }

 private:
  const UOpMap<uint32_t>* node_numbers_ = nullptr;
};

class TraceForwarder : public TraceConsumer {
 public:
  explicit TraceForwarder(std::vector<TraceConsumer*> to) : trace_consumers_(std::move(to)) {}
  void begin_kernel(std::string_view id, std::string_view target, UOp ast) override {
    for (auto* c : trace_consumers_) c->begin_kernel(id, target, ast);
  }
  void user_operation(std::string_view what) override { for (auto* c : trace_consumers_) c->user_operation(what); }
  void end_kernel() override { for (auto* c : trace_consumers_) c->end_kernel(); }
  void abandon_kernel() override { for (auto* c : trace_consumers_) c->abandon_kernel(); }
  void set_node_numbers(const UOpMap<uint32_t>* numbers) override {
    for (auto* c : trace_consumers_) c->set_node_numbers(numbers);
  }
  void begin_stage(std::string_view name, UOp input) override {
    for (auto* c : trace_consumers_) c->begin_stage(name, input);
  }
  void end_stage(UOp result) override { for (auto* c : trace_consumers_) c->end_stage(result); }
  void begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) override {
    for (auto* c : trace_consumers_) c->begin_rewrite(rewrite, depth, input);
  }
  void end_rewrite(int depth, UOp result) override { for (auto* c : trace_consumers_) c->end_rewrite(depth, result); }
  void on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override {
    for (auto* c : trace_consumers_) c->on_rule_applied(depth, rule, before, after, cost);
  }
  void on_node_rebuilt(int depth, UOp before, UOp after) override {
    for (auto* c : trace_consumers_) c->on_node_rebuilt(depth, before, after);
  }
  void on_node_gated(int depth, UOp node) override { for (auto* c : trace_consumers_) c->on_node_gated(depth, node); }

 private:
  std::vector<TraceConsumer*> trace_consumers_;
};

// Forwards the events of kernels, and those of stages for which `wants` returns true.
class StageFilter : public TraceForwarder {
 public:
  using StagePredicate = std::function<bool(std::string_view stage)>;
  StageFilter(StagePredicate wants, TraceConsumer& to) : TraceForwarder({&to}), is_wanted_(std::move(wants)) {}
  void begin_stage(std::string_view name, UOp input) override {
    is_stage_wanted_ = is_wanted_(name);
    if (is_stage_wanted_) TraceForwarder::begin_stage(name, input);
  }
  void end_stage(UOp result) override {
    if (is_stage_wanted_) TraceForwarder::end_stage(result);
    is_stage_wanted_ = false;
  }
  void begin_rewrite(const TraceRewrite& rewrite, int depth, UOp input) override {
    if (is_stage_wanted_) TraceForwarder::begin_rewrite(rewrite, depth, input);
  }
  void end_rewrite(int depth, UOp result) override {
    if (is_stage_wanted_) TraceForwarder::end_rewrite(depth, result);
  }
  void on_rule_applied(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override {
    if (is_stage_wanted_) TraceForwarder::on_rule_applied(depth, rule, before, after, cost);
  }
  void on_node_rebuilt(int depth, UOp before, UOp after) override {
    if (is_stage_wanted_) TraceForwarder::on_node_rebuilt(depth, before, after);
  }
  void on_node_gated(int depth, UOp node) override {
    if (is_stage_wanted_) TraceForwarder::on_node_gated(depth, node);
  }

 private:
  StagePredicate is_wanted_;
  bool is_stage_wanted_ = false;
};

// Sends the rewrites of a Graph to a consumer while `is_enabled` is set, until the destructor runs.
class TracingRewriteObserver : public RewriteObserver {
 public:
  TracingRewriteObserver(Graph& graph, TraceConsumer& to) : graph_(graph), trace_consumer_(to) {
    set_observer(graph, this);
  }
  ~TracingRewriteObserver() override { set_observer(graph_, nullptr); }
  TracingRewriteObserver(const TracingRewriteObserver&) = delete;
  TracingRewriteObserver& operator=(const TracingRewriteObserver&) = delete;

  bool is_enabled = true;

  void begin_rewrite(std::string_view name, UOp sink, const RuleSet& rules, bool bottom_up) override {
    if (is_enabled)
      trace_consumer_.begin_rewrite({name, rules.name(), rules.rules().size(), bottom_up}, nesting_depth_, sink);
    nesting_depth_++;
  }
  void end_rewrite(std::string_view, UOp result) override {
    nesting_depth_--;
    if (is_enabled) trace_consumer_.end_rewrite(nesting_depth_, result);
  }
  void on_rule_applied(const RuleHit& hit, UOp before, UOp after, RuleCost cost) override {
    if (!is_enabled) return;
    const Rule& r = *hit.rule;
    trace_consumer_.on_rule_applied(
        nesting_depth_ - 1, {r.name, short_file_name(r), r.line, hit.branch ? hit.branch : "", tinygrad_source(r)},
        before, after, {cost.num_nodes_before, uint32_t(graph_.size()), cost.time_ns});
  }
  void on_node_rebuilt(UOp before, UOp after) override {
    if (is_enabled) trace_consumer_.on_node_rebuilt(nesting_depth_ - 1, before, after);
  }
  void on_node_gated(UOp node) override {
    if (is_enabled) trace_consumer_.on_node_gated(nesting_depth_ - 1, node);
  }

 private:
  Graph& graph_;
  TraceConsumer& trace_consumer_;
  int nesting_depth_ = 0;
};

}  // namespace tgc
