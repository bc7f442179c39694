// The rewrite trace: every rewrite of the stages of a kernel, in order, as events. LiveTrace makes them while the
// pipeline runs, read_trace (trace_file.h) from a file; printing, explaining, writing and replaying are consumers of
// the same events, one at a time, so memory is bounded by one kernel.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "lib/rewrite/rewrite.h"
#include "lib/rules/rule_sources.h"
#include "lib/uop/graph.h"

namespace tgc {

// The rule of a rewrite; views that live as long as the trace.
struct TraceRule {
  std::string_view name, file;  // "add-zero", "passes/symbolic/simple.cpp"
  uint32_t line = 0;
  std::string_view branch = {};  // which of its foldings, where it has several
  std::string_view source = {};  // its place in tinygrad, "uop/symbolic.py:42"
};

// "add-zero", and of a rule with several foldings "divmod-general [cancel]".
inline std::string name_with_branch(const TraceRule& rule) {
  return std::string(rule.name) + (rule.branch.empty() ? "" : " [" + std::string(rule.branch) + "]");
}
// "passes/symbolic/simple.cpp:131 (uop/symbolic.py:42)"
inline std::string places_of(const TraceRule& rule) {
  return std::string(rule.file) + ":" + std::to_string(rule.line) +
         (rule.source.empty() ? "" : " (" + std::string(rule.source) + ")");
}

// A graph_rewrite or a substitution, as it begins.
struct TraceRewrite {
  std::string_view name, set;  // its own name ("minimum_valid"), and that of its rule set ("symbolic")
  size_t rules = 0;            // of the set
  bool bottom_up = false;
};

// What a rewrite cost: the nodes whose numbers are in [made_from, made_to) were made by the rule, and the time.
struct TraceCost {
  uint32_t made_from = 0, made_to = 0;
  uint64_t ns = 0;
};

class TraceConsumer {
 public:
  virtual ~TraceConsumer() = default;

  // A kernel, or a tensor graph (no target): its nodes are of one Graph, which is gone after kernel_end.
  virtual void kernel(std::string_view /*id*/, std::string_view /*target*/, UOp /*ast*/) {}
  virtual void made_for(std::string_view /*what*/) {}  // of that kernel, where it is known
  virtual void kernel_end() {}
  virtual void kernel_given_up() {}  // instead of kernel_end: a stage refused it, and its graph is gone after this
  virtual void stage(std::string_view /*name*/, UOp /*input*/) {}
  virtual void stage_end(UOp /*result*/) {}
  // A rewrite inside the stage, or inside a rule of another one. `depth` is 0 for those that the stage itself does.
  virtual void begin(const TraceRewrite& /*rewrite*/, int /*depth*/, UOp /*input*/) {}
  virtual void end(int /*depth*/, UOp /*result*/) {}  // no result: it was given up
  virtual void rewrite(int /*depth*/, const TraceRule& /*rule*/, UOp /*before*/, UOp /*after*/, TraceCost /*cost*/) {}
  virtual void rebuilt(int /*depth*/, UOp /*before*/, UOp /*after*/) {}
  virtual void gated(int /*depth*/, UOp /*node*/) {}

  // The number of a node, the order in which nodes were made: the same in a run and in the file written from it.
  uint32_t number(UOp u) const { return numbers_ ? *numbers_->find(u) : u.id(); }
  virtual void set_numbers(const UOpMap<uint32_t>* numbers) { numbers_ = numbers; }

 private:
  const UOpMap<uint32_t>* numbers_ = nullptr;
};

// Several consumers as one.
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

// Hands on the events of some stages, and drops those of others.
class StageFilter : public TraceConsumer {
 public:
  using Wants = std::function<bool(std::string_view stage)>;
  StageFilter(Wants wants, TraceConsumer& to) : wants_(std::move(wants)), to_(to) {}
  void kernel(std::string_view id, std::string_view target, UOp ast) override { to_.kernel(id, target, ast); }
  void made_for(std::string_view what) override { to_.made_for(what); }
  void kernel_end() override { to_.kernel_end(); }
  void kernel_given_up() override { to_.kernel_given_up(); }
  void set_numbers(const UOpMap<uint32_t>* numbers) override { to_.set_numbers(numbers); }
  void stage(std::string_view name, UOp input) override {
    on_ = wants_(name);
    if (on_) to_.stage(name, input);
  }
  void stage_end(UOp result) override {
    if (on_) to_.stage_end(result);
    on_ = false;
  }
  void begin(const TraceRewrite& rewrite, int depth, UOp input) override {
    if (on_) to_.begin(rewrite, depth, input);
  }
  void end(int depth, UOp result) override {
    if (on_) to_.end(depth, result);
  }
  void rewrite(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override {
    if (on_) to_.rewrite(depth, rule, before, after, cost);
  }
  void rebuilt(int depth, UOp before, UOp after) override {
    if (on_) to_.rebuilt(depth, before, after);
  }
  void gated(int depth, UOp node) override {
    if (on_) to_.gated(depth, node);
  }

 private:
  Wants wants_;
  TraceConsumer& to_;
  bool on_ = false;
};

// Watches a Graph while it lives, and tells the consumer. Events outside of a stage that is wanted are dropped: set
// `on` per stage.
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

// The graph under `input` with these rewrites, as if the rules that made them were all there are: each node before
// becomes the one after it, and below those of `gates` nothing is rewritten. Nobody is told.
UOp apply_rewrites(UOp input, bool bottom_up, std::span<const std::pair<UOp, UOp>> rewrites, std::span<const UOp> gates);

// Checks a trace against itself: the rewrites that are listed, applied to a rewrite's input, give its result.
class TraceReplay : public TraceConsumer {
 public:
  void begin(const TraceRewrite& rewrite, int depth, UOp input) override;
  void end(int depth, UOp result) override;
  void rewrite(int depth, const TraceRule& rule, UOp before, UOp after, TraceCost cost) override;
  void gated(int depth, UOp node) override;

  size_t same() const { return same_; }
  size_t different() const { return different_; }
  std::string text() const;  // a line: how many there were, and how many gave the same

 private:
  struct Pending {
    UOp input;
    bool bottom_up;
    std::vector<std::pair<UOp, UOp>> rewrites;
    std::vector<UOp> gates;
  };
  std::vector<Pending> pending_;  // by depth
  size_t same_ = 0, different_ = 0;
};

}  // namespace tgc
