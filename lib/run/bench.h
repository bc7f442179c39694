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
  bool count_rules = false;  // also time `repeats` runs that count how often each rule is tried and applies
  int repeats = 3;
};

struct TimedGraph {
  std::string name, target;  // a tensor graph has no target
  Result<GraphTime> time = GraphTime{};
};

struct BenchResult {
  std::vector<TimedGraph> graphs;
  double seconds = 0;  // duration of the whole run
};
// Reads all graphs of the inputs, then times each of them, session.jobs at a time. TimedGraph::time is an error for a
// graph that the pipeline refuses.
Result<BenchResult> run_bench(const Session& session, const BenchPlan& plan);

// Times everything before the compiler for a file with one tensor graph, usually a model, in three stages: "read" the
// file, "schedule" the graph, "render" the distinct sources of its kernels. The result's `nodes` are those of the
// tensor graph; the count of "schedule" is that of runs of kernels and copies, that of "render" of distinct kernels.
// After a run that warms up, returns the least total of `repeats` runs, and the least processor times of the stages.
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
  double quantile(double part) const;  // the least time that at least this fraction of all times does not exceed
  std::vector<double> ms_;
  double sum_ = 0;
  size_t nodes_ = 0;
};

class BenchReport {
 public:
  BenchReport(const BenchPlan& plan, unsigned threads, const BenchResult& result);
  // Return the report; with `list`, also a line or object for each graph.
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
