// Watchers of a Compilation that send its rewrites as events or count the attempts of its rules.
#pragma once
#include <functional>
#include <optional>

#include "lib/compilation/compilation.h"
#include "lib/compilation/trace_events.h"
#include "lib/rewrite/stats.h"

namespace tgc {

// Returns true if the row may have rewrites to trace, as all rows may except the one that makes the schedule.
inline bool has_rewrites(const StageRow& row) { return row.kind != StageRow::Kind::Schedule; }

// Sends the rewrites of a compilation to a trace consumer. If a stage fails, calls kernel_given_up() of the consumer.
class TraceWatcher : public Watcher {
 public:
  explicit TraceWatcher(TraceConsumer& to) : to_(to) {}
  void begin(Compilation& c) override {
    failed_ = false;
    to_.kernel(c.name(), c.is_tensor_graph() ? "" : c.target().name(), c.ast());
    if (!c.loaded().made_for.empty()) to_.made_for(c.loaded().made_for);
    live_.emplace(c.graph(), to_);
    live_->on = false;
  }
  void stage(const StageRow& row, UOp input) override {
    if (!has_rewrites(row)) return;
    to_.stage(row.name, input);
    live_->on = true;
  }
  void stage_end(const StageRow& row, UOp result) override {
    live_->on = false;
    failed_ = !result;
    if (has_rewrites(row) && result) to_.stage_end(result);
  }
  void end(Compilation&) override {
    if (failed_) to_.kernel_given_up();
    else to_.kernel_end();
    live_.reset();
  }

 private:
  TraceConsumer& to_;
  std::optional<LiveTrace> live_;
  bool failed_ = false;
};

// While this object lives, counts attempts and hits of the rules in one graph.
class RuleCounter : public RewriteObserver {
 public:
  RuleCounter(Graph& graph, RuleStats& into) : graph_(graph) {
    stats = &into;
    counts_only = true;
    set_observer(graph, this);
  }
  ~RuleCounter() override { set_observer(graph_, nullptr); }
  RuleCounter(const RuleCounter&) = delete;
  RuleCounter& operator=(const RuleCounter&) = delete;

 private:
  Graph& graph_;
};

// Counts the attempts and matches of rules in stages for which `wants` returns true.
class StatsWatcher : public Watcher {
 public:
  // Adds the counts to `stats`, which must outlive the watcher.
  StatsWatcher(std::function<bool(const StageRow&)> wants, RuleStats& stats)
      : stats_(stats), wants_(std::move(wants)) {}
  void stage(const StageRow& row, UOp input) override {
    if (wants_(row)) watch_.emplace(input.graph(), stats_);
  }
  void stage_end(const StageRow&, UOp) override { watch_.reset(); }
  void end(Compilation&) override { watch_.reset(); }  // stop counting before the graph of a failed stage is freed

 private:
  RuleStats& stats_;
  std::function<bool(const StageRow&)> wants_;
  std::optional<RuleCounter> watch_;
};

// Sets the watcher of a Compilation; the destructor removes it. Use this class if the watcher is destroyed before the
// Compilation. The destructor drops exceptions of Watcher::end(); to get them, call Compilation::watch(nullptr) before.
class ScopedWatch {
 public:
  ScopedWatch(Compilation& compilation, Watcher& watcher) : compilation_(compilation) {
    try {
      compilation_.watch(&watcher);
    } catch (...) {
      end();
      throw;
    }
  }
  ScopedWatch(const ScopedWatch&) = delete;
  ScopedWatch& operator=(const ScopedWatch&) = delete;
  ~ScopedWatch() { end(); }

 private:
  void end() noexcept {
    try {
      compilation_.watch(nullptr);
    } catch (...) {  // drop the exception, as ~Compilation does
    }
  }

  Compilation& compilation_;
};

}  // namespace tgc
