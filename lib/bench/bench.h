// Measures how long the pipeline takes for many graphs, for `tgc bench`.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/compilation/timing.h"
#include "lib/driver/session.h"
#include "lib/support/quantile.h"

namespace tgc {

struct BenchPlan {
  std::vector<std::string> inputs;
  std::string kernel;
  // Times each input as a whole with time_tensor_graph(), so each must be a model or a tensor graph.
  bool should_include_reading = false;
  bool should_count_rules = false;  // adds runs that count how often each rule is tried and applies
  int repeats = 3;
};

struct TimedGraph {
  std::string name, target;  // `target` is empty for a tensor graph
  Result<GraphTime> graph_time = GraphTime{};
};

struct BenchResult {
  std::vector<TimedGraph> graphs;
  size_t num_recorded_graphs = 0;  // number of graphs at the end of `graphs` that tinygrad recorded
  std::string recording_release;  // such as "tinygrad 0.14.0"
  double wall_seconds = 0;
};
// Times the graphs that tgc compiles, session.num_jobs at a time. For graphs that tgc cannot compile, takes the times
// that tinygrad recorded. With plan.should_include_reading, times each input with time_tensor_graph() instead. Fails if
// cancelled, or if an input cannot be prepared. A graph that cannot be timed has an error as its graph_time.
Result<BenchResult> run_bench(const Session& session, const BenchPlan& plan);

// Times the stages "read", "schedule" and "render" (of the distinct kernels) for a file whose first graph is a tensor
// graph, in processor time. Their StageTime::num_nodes counts nodes, schedule items and kernels, respectively.
Result<GraphTime> time_tensor_graph(const Session& session, const std::string& spec, int repeats);

// The times of all graphs in milliseconds, for one stage or in total.
class StageTimes {
 public:
  void add_time(size_t nodes, double ms);
  size_t count() const { return times_ms_.size(); }
  size_t num_nodes() const { return num_nodes_; }
  double sum_ms() const { return sum_ms_; }
  double mean_ms() const { return times_ms_.empty() ? 0 : sum_ms_ / double(times_ms_.size()); }
  double median_ms() const { return quantile(times_ms_, 0.5); }
  double p95_ms() const { return quantile(times_ms_, 0.95); }
  double max_ms() const { return quantile(times_ms_, 1); }

 private:
  std::vector<double> times_ms_;
  double sum_ms_ = 0;
  size_t num_nodes_ = 0;
};

class BenchReport {
 public:
  BenchReport(const BenchPlan& plan, unsigned threads, const BenchResult& result);
  // Return the report; with `list`, also one line or JSON object for each timed graph.
  std::string text(bool list) const;
  std::string json(bool list) const;

 private:
  StageTimes& times_of_stage(std::string_view name);
  // Returns 0.1 if counting rules makes tgc 10 % slower.
  double counting_slowdown() const {
    return total_times_.sum_ms() > 0 ? counting_runs_ms_ / total_times_.sum_ms() - 1 : 0;
  }
  double runs_per_second() const;

  const BenchPlan& bench_plan_;
  unsigned num_threads_;
  const BenchResult& bench_result_;
  StageTimes total_times_;
  // in the order in which the stages first occur
  std::vector<std::pair<std::string_view, StageTimes>> stage_times_;
  size_t num_refused_graphs_ = 0;
  double counting_runs_ms_ = 0;
};

}  // namespace tgc
