// The rewrite trace: events for all rewrites of the stages of kernels and tensor graphs, in order. LiveTrace sends the
// events while tgc's own pipeline runs, RecordedTrace (recorded_rewrites.h) sends those of a recording, and
// read_trace() (lib/trace/trace_file.h) those of a file. A TraceConsumer receives the events.
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
  std::string_view name, file;  // for example "add-zero" and "passes/symbolic/simple.cpp"
  uint32_t line = 0;
  // The branch (folding) of the rule that applied; empty if the rule has only one. In a recording, "discarded" if the
  // rewrite is discarded (Rewrite::is_discarded).
  std::string_view branch = {};
  std::string_view source = {};  // file and line of the rule in tinygrad, "uop/symbolic.py:42"; empty if unknown
};

// Returns true if tinygrad discarded the rewrite (Rewrite::is_discarded).
inline bool is_discarded(const TraceRule& rule) { return rule.branch == "discarded"; }
// Returns "add-zero"; for a rule with several branches, "divmod-general [cancel]".
inline std::string name_with_branch(const TraceRule& rule) {
  return std::string(rule.name) + (rule.branch.empty() ? "" : " [" + std::string(rule.branch) + "]");
}
// Returns the positions of the rule in tgc and tinygrad: "passes/symbolic/simple.cpp:131 (uop/symbolic.py:42)".
inline std::string places_of(const TraceRule& rule) {
  if (rule.file.empty()) return std::string(rule.source);
  return std::string(rule.file) + ":" + std::to_string(rule.line) +
         (rule.source.empty() ? "" : " (" + std::string(rule.source) + ")");
}

// Returns the name of the rule and its position, or only the name if the name is the position, as in recordings.
inline std::string name_with_place(const TraceRule& rule) {
  const std::string place = places_of(rule);
  return rule.name == place ? place : name_with_branch(rule) + "  " + place;
}

// The properties of a graph rewrite or a substitution.
struct TraceRewrite {
  std::string_view name, set;  // name of the graph rewrite ("minimum_valid") and of its rule set ("symbolic")
  size_t rules = 0;            // number of rules in the set; 0 if unknown
  bool bottom_up = false;
};

// The cost of one application: the rule created the nodes numbered made_from to made_to - 1, and took `ns` nanoseconds.
struct TraceCost {
  static constexpr uint64_t kUnknown = UINT64_MAX;
  uint32_t made_from = 0, made_to = 0;
  uint64_t ns = kUnknown;
};

class TraceConsumer {
 public:
  virtual ~TraceConsumer() = default;

  // Called at the beginning of a kernel, or of a tensor graph (empty target). Its Graph is freed after kernel_end() or
  // kernel_given_up().
  virtual void kernel(std::string_view /*id*/, std::string_view /*target*/, UOp /*ast*/) {}
  virtual void made_for(std::string_view /*what*/) {}  // the user's operation and its program line, if recorded
  virtual void kernel_end() {}
  virtual void kernel_given_up() {}  // called in place of kernel_end() if a stage failed
  virtual void stage(std::string_view /*name*/, UOp /*input*/) {}
  virtual void stage_end(UOp /*result*/) {}
  // A graph rewrite begins. `depth` is the number of graph rewrites around it, which is 0 if a stage starts it.
  virtual void begin(const TraceRewrite& /*rewrite*/, int /*depth*/, UOp /*input*/) {}
  virtual void end(int /*depth*/, UOp /*result*/) {}  // `result` is empty if the graph rewrite failed
  virtual void rewrite(int /*depth*/, const TraceRule& /*rule*/, UOp /*before*/, UOp /*after*/, TraceCost /*cost*/) {}
  virtual void rebuilt(int /*depth*/, UOp /*before*/, UOp /*after*/) {}
  virtual void gated(int /*depth*/, UOp /*node*/) {}

  // Returns the number of a node, in order of creation. The nodes of a trace file have their numbers in the traced run.
  uint32_t number(UOp u) const {
    const uint32_t* known = numbers_ ? numbers_->find(u) : nullptr;
    return known ? *known : u.id();
  }
  virtual void set_numbers(const UOpMap<uint32_t>* numbers) { numbers_ = numbers; }

 private:
  const UOpMap<uint32_t>* numbers_ = nullptr;
};

// Sends every event to several consumers.
class TraceTee : public TraceConsumer {
 public:
  explicit TraceTee(std::vector<TraceConsumer*> to) : to_(std::move(to)) {}
  void kernel(std::string_view id, std::string_view target, UOp ast) override {
    for (auto* c : to_) c->kernel(id, target, ast);
  }
  void made_for(std::string_view what) override { for (auto* c : to_) c->made_for(what); }
  void kernel_end() override { for (auto* c : to_) c->kernel_end(); }
  void kernel_given_up() override { for (auto* c : to_) c->kernel_given_up(); }
  void set_numbers(const UOpMap<uint32_t>* numbers) override { for (auto* c : to_) c->set_numbers(numbers); }
  void stage(std::string_view name, UOp input) override { for (auto* c : to_) c->stage(name, input); }
  void stage_end(UOp result) override { for (auto* c : to_) c->stage_end(result); }
  void begin(const TraceRewrite& rewrite, int depth, UOp input) override {
    for (auto* c : to_) c->begin(rewrite, depth, input);
  }
  void end(int depth, UOp result) override { for (auto* c : to_) c->end(depth, result); }
  void rewrite(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override {
    for (auto* c : to_) c->rewrite(depth, rule, before, after, cost);
  }
  void rebuilt(int depth, UOp before, UOp after) override { for (auto* c : to_) c->rebuilt(depth, before, after); }
  void gated(int depth, UOp node) override { for (auto* c : to_) c->gated(depth, node); }

 private:
  std::vector<TraceConsumer*> to_;
};

// Forwards the events of kernels, and those of stages for which `wants` returns true.
class StageFilter : public TraceTee {
 public:
  using Wants = std::function<bool(std::string_view stage)>;
  StageFilter(Wants wants, TraceConsumer& to) : TraceTee({&to}), wants_(std::move(wants)) {}
  void stage(std::string_view name, UOp input) override {
    on_ = wants_(name);
    if (on_) TraceTee::stage(name, input);
  }
  void stage_end(UOp result) override {
    if (on_) TraceTee::stage_end(result);
    on_ = false;
  }
  void begin(const TraceRewrite& rewrite, int depth, UOp input) override {
    if (on_) TraceTee::begin(rewrite, depth, input);
  }
  void end(int depth, UOp result) override {
    if (on_) TraceTee::end(depth, result);
  }
  void rewrite(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override {
    if (on_) TraceTee::rewrite(depth, rule, before, after, cost);
  }
  void rebuilt(int depth, UOp before, UOp after) override {
    if (on_) TraceTee::rebuilt(depth, before, after);
  }
  void gated(int depth, UOp node) override {
    if (on_) TraceTee::gated(depth, node);
  }

 private:
  Wants wants_;
  bool on_ = false;
};

// Observes the rewrites of a Graph and sends them to a consumer, until the destructor runs. Sends nothing while `on` is
// false, so that the caller can omit stages.
class LiveTrace : public RewriteObserver {
 public:
  LiveTrace(Graph& graph, TraceConsumer& to) : graph_(graph), to_(to) { set_observer(graph, this); }
  ~LiveTrace() override { set_observer(graph_, nullptr); }
  LiveTrace(const LiveTrace&) = delete;
  LiveTrace& operator=(const LiveTrace&) = delete;

  bool on = true;

  void begin(std::string_view name, UOp sink, const RuleSet& rules, bool bottom_up) override {
    if (on) to_.begin({name, rules.name(), rules.rules().size(), bottom_up}, depth_, sink);
    depth_++;
  }
  void end(std::string_view, UOp result) override {
    depth_--;
    if (on) to_.end(depth_, result);
  }
  void rewritten(const Hit& hit, UOp before, UOp after, Cost cost) override {
    if (!on) return;
    const Rule& r = *hit.rule;
    to_.rewrite(depth_ - 1, {r.name, short_file(r), r.line, hit.branch ? hit.branch : "", tinygrad_source(r)}, before,
                after, {cost.made_from, uint32_t(graph_.size()), cost.ns});
  }
  void rebuilt(UOp before, UOp after) override {
    if (on) to_.rebuilt(depth_ - 1, before, after);
  }
  void gated(UOp node) override {
    if (on) to_.gated(depth_ - 1, node);
  }

 private:
  Graph& graph_;
  TraceConsumer& to_;
  int depth_ = 0;
};

}  // namespace tgc
