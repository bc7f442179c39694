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
// file, "schedule" the graph, "render" the distinct sources of its kernels. After a warm-up run, returns the least
// total of `repeats` runs, and the least processor times of the stages. `nodes` are those of the tensor graph;
// "schedule" counts the runs of kernels and copies, "render" the distinct kernels.
Result<GraphTime> time_whole(const Session& session, const std::string& spec, int repeats);

// The times of one stage, or of the whole, over all graphs, in milliseconds.
class Times {
 public:
  void add(size_t nodes, double ms);
  void sort();  // call it before the functions below
  size_t count() const { return ms_.size(); }
  size_t nodes() const { return nodes_; }
  double sum() const { return sum_; }
  double mean() const { return ms_.empty() ? 0 : sum_ / double(ms_.size()); }
  double median() const { return quantile(0.5); }
  double p95() const { return quantile(0.95); }
  double max() const { return ms_.empty() ? 0 : ms_.back(); }

 private:
  double quantile(double part) const;  // returns the least time that is at least as long as this part of all times
  std::vector<double> ms_;
  double sum_ = 0;
  size_t nodes_ = 0;
};

class BenchReport {
 public:
  BenchReport(const BenchPlan& plan, unsigned threads, const BenchResult& result);
  // These return the report; if `list` is true, also a line or JSON object for each graph.
  std::string text(bool list) const;
  std::string json(bool list) const;

 private:
  Times& times_of(std::string_view name);
  double slower() const { return total_.sum() > 0 ? counted_ms_ / total_.sum() - 1 : 0; }  // relative cost of counting
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
