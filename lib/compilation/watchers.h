// Observers that send the rewrites of a Compilation as events or count the attempts of its rules, and ScopedObserver.
#pragma once
#include <functional>
#include <optional>

#include "lib/compilation/compilation.h"
#include "lib/compilation/trace_events.h"
#include "lib/rewrite/stats.h"

namespace tgc {

inline bool has_rewrites(const StageRow& row) { return row.kind != StageRow::Kind::Schedule; }

// Sends trace events. At the end of a compilation in which a stage failed, calls abandon_kernel() of the consumer.
class TraceObserver : public StageObserver {
 public:
  explicit TraceObserver(TraceConsumer& to) : trace_consumer_(to) {}
  void begin_compilation(Compilation& c) override {
    has_failed_ = false;
    trace_consumer_.begin_kernel(c.name(), c.is_tensor_graph() ? "" : c.target().name(), c.ast());
    if (!c.input_graph().user_operation.empty()) trace_consumer_.user_operation(c.input_graph().user_operation);
    rewrite_observer_.emplace(c.graph(), trace_consumer_);
    rewrite_observer_->is_enabled = false;
  }
  void begin_stage(const StageRow& row, UOp input) override {
    if (!has_rewrites(row)) return;
    trace_consumer_.begin_stage(row.name, input);
    rewrite_observer_->is_enabled = true;
  }
  void end_stage(const StageRow& row, UOp result) override {
    rewrite_observer_->is_enabled = false;
    has_failed_ = !result;
    if (has_rewrites(row) && result) trace_consumer_.end_stage(result);
  }
  void end_compilation(Compilation&) override {
    if (has_failed_) trace_consumer_.abandon_kernel();
    else trace_consumer_.end_kernel();
    rewrite_observer_.reset();
  }

 private:
  TraceConsumer& trace_consumer_;
  std::optional<TracingRewriteObserver> rewrite_observer_;
  bool has_failed_ = false;
};

// While this object lives, counts attempts and hits of the rules in one graph.
class RuleCounter : public RewriteObserver {
 public:
  RuleCounter(Graph& graph, RuleStats& into) : graph_(graph) {
    rule_stats = &into;
    is_counting_only = true;
    set_observer(graph, this);
  }
  ~RuleCounter() override { set_observer(graph_, nullptr); }
  RuleCounter(const RuleCounter&) = delete;
  RuleCounter& operator=(const RuleCounter&) = delete;

 private:
  Graph& graph_;
};

// Counts the attempts and matches of rules in stages for which `wants` returns true.
class StatsObserver : public StageObserver {
 public:
  // `stats` must outlive the observer.
  StatsObserver(std::function<bool(const StageRow&)> wants, RuleStats& stats)
      : rule_stats_(stats), is_wanted_(std::move(wants)) {}
  void begin_stage(const StageRow& row, UOp input) override {
    if (is_wanted_(row)) rule_counter_.emplace(input.graph(), rule_stats_);
  }
  void end_stage(const StageRow&, UOp) override { rule_counter_.reset(); }
  // the graph of a failed stage may be freed before the observer
  void end_compilation(Compilation&) override { rule_counter_.reset(); }

 private:
  RuleStats& rule_stats_;
  std::function<bool(const StageRow&)> is_wanted_;
  std::optional<RuleCounter> rule_counter_;
};

// The destructor removes the observer, and drops exceptions of StageObserver::end_compilation(). To get them, call
// Compilation::set_stage_observer(nullptr) before.
class ScopedObserver {
 public:
  ScopedObserver(Compilation& compilation, StageObserver& stage_observer) : compilation_(compilation) {
    try {
      compilation_.set_stage_observer(&stage_observer);
    } catch (...) {
      end_observation();
      throw;
    }
  }
  ScopedObserver(const ScopedObserver&) = delete;
  ScopedObserver& operator=(const ScopedObserver&) = delete;
  ~ScopedObserver() { end_observation(); }

 private:
  void end_observation() noexcept {
    try {
      compilation_.set_stage_observer(nullptr);
    } catch (...) {
    }
  }

  Compilation& compilation_;
};

}  // namespace tgc
