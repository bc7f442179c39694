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
  // for models and tensor graphs: include reading the file and rendering the kernels
  bool includes_reading = false;
  bool counts_rules = false;  // also make `repeats` runs that count how often each rule is tried and applies
  int repeats = 3;
};

struct TimedGraph {
  std::string name, target;  // `target` is empty for a tensor graph
  Result<GraphTime> graph_time = GraphTime{};
};

struct BenchResult {
  std::vector<TimedGraph> graphs;
  size_t num_recorded = 0;  // number of graphs at the end of `graphs` whose times a tinygrad recorded
  std::string recorded_by;  // the tinygrad that recorded them: "tinygrad 0.14.0"
  double wall_seconds = 0;  // wall time of all timed runs
};
// Reads all graphs of the inputs, then times those that tgc compiles, session.jobs at a time. With
// plan.includes_reading, calls time_tensor_graph() for each input instead. For recordings and live pipelines, uses the
// times that tinygrad took. If the pipeline refuses a graph, or if a recording has no times, its TimedGraph::graph_time
// is an error.
Result<BenchResult> run_bench(const Session& session, const BenchPlan& plan);

// Times all work before the compilers run, for a file with one tensor graph (usually a model). Its stages are: "read"
// the file, "schedule" the graph, "render" the distinct kernels. After a warm-up run, returns the minimum of `repeats`
// runs, in processor time. GraphTime::num_nodes counts the nodes of the tensor graph. StageTime::num_nodes counts
// schedule items for "schedule" and distinct kernels for "render".
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
  // Return the report. If `list` is true, the report also has one line or JSON object for each graph.
  std::string text(bool list) const;
  std::string json(bool list) const;

 private:
  StageTimes& times_of_stage(std::string_view name);
  // relative cost of counting rules: 0.1 means 10 % slower
  double counting_slowdown() const { return total_times_.sum_ms() > 0 ? counted_ms_ / total_times_.sum_ms() - 1 : 0; }
  double runs_per_second() const;

  const BenchPlan& bench_plan_;
  unsigned num_threads_;
  const BenchResult& bench_result_;
  StageTimes total_times_;
  // the stages in the order in which they first ran, with their times
  std::vector<std::pair<std::string_view, StageTimes>> stage_times_;
  size_t num_refused_ = 0;
  double counted_ms_ = 0;
};

}  // namespace tgc
