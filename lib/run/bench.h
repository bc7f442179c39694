// Times the pipeline over many graphs, for `tgc bench`.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/compilation/timing.h"
#include "lib/driver/session.h"

namespace tgc {

struct BenchPlan {
  std::vector<std::string> inputs;
  std::string kernel;
  bool whole = false;        // time models and tensor graphs from the file to the sources of their kernels
  bool count_rules = false;  // also time as many runs that count rules
  int repeats = 3;
};

struct TimedGraph {
  std::string name, target;  // a tensor graph has no target
  Result<GraphTime> time = GraphTime{};
};

struct BenchResult {
  std::vector<TimedGraph> graphs;
  double seconds = 0;  // of the whole run
};
// Times every graph of the inputs, session.jobs at a time, after all are read. A graph that the pipeline refuses has
// its Diag.
Result<BenchResult> run_bench(const Session& session, const BenchPlan& plan);

// Times everything before the compiler for a file with one tensor graph, usually a model: "read" the file, "schedule"
// the graph, "render" the distinct sources of its kernels. `nodes` counts the tensor graph's nodes; the nodes of
// "schedule" are runs of kernels and copies, those of "render" distinct kernels. Stages are in processor time. Returns
// the fastest of `repeats` runs for the total, and of as many for the stages, after one run that warms up.
Result<GraphTime> time_whole(const Session& session, const std::string& spec, int repeats);

// The times of one stage, or of the whole, over all graphs, in milliseconds.
class Times {
 public:
  void add(size_t nodes, double ms);
  void sort();  // must precede the functions below
  size_t count() const { return ms_.size(); }
  size_t nodes() const { return nodes_; }
  double sum() const { return sum_; }
  double mean() const { return ms_.empty() ? 0 : sum_ / double(ms_.size()); }
  double median() const { return quantile(0.5); }
  double p95() const { return quantile(0.95); }
  double max() const { return ms_.empty() ? 0 : ms_.back(); }

 private:
  double quantile(double part) const;  // the smallest time that this part of all times does not exceed
  std::vector<double> ms_;
  double sum_ = 0;
  size_t nodes_ = 0;
};

class BenchReport {
 public:
  BenchReport(const BenchPlan& plan, unsigned threads, const BenchResult& result);
  // `list` adds each graph.
  std::string text(bool list) const;
  std::string json(bool list) const;

 private:
  Times& times_of(std::string_view name);
  double slower() const { return total_.sum() > 0 ? counted_ms_ / total_.sum() - 1 : 0; }  // cost of counting
  double runs_per_second() const;

  const BenchPlan& plan_;
  unsigned threads_;
  const BenchResult& result_;
  Times total_;
  std::vector<std::pair<std::string_view, Times>> stages_;  // in the order of the pipeline
  size_t refused_ = 0;
  double counted_ms_ = 0;
};

}  // namespace tgc
