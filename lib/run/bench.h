// The pipeline timed over many graphs, and what `tgc bench` says of it.
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
  bool whole = false;       // of each model or tensor graph: from the file to the sources of its kernels
  bool count_rules = false; // as many runs more that count rules: what counting costs
  int repeats = 3;
};

struct TimedGraph {
  std::string name, target;  // no target: a tensor graph
  Result<GraphTime> time = GraphTime{};
};

// Times every graph of the inputs, session.jobs at a time; all are read before any is timed. A graph that the pipeline
// refuses has its Diag.
struct BenchResult {
  std::vector<TimedGraph> graphs;
  double seconds = 0;  // in all
};
Result<BenchResult> run_bench(const Session& session, const BenchPlan& plan);

// Of a file with one tensor graph, a model most of all, all that comes before the compiler: "read" it, "schedule" it,
// "render" the sources of its kernels, equal ones once. `nodes` are those of the tensor graph; the stages are processor
// time, the nodes of "schedule" the runs of kernels and copies, those of "render" the distinct kernels. The fastest of
// `repeats` runs for the total and as many for the stages, after one that warms up.
Result<GraphTime> time_whole(const Session& session, const std::string& spec, int repeats);

// The times of one stage, or of the whole, over all graphs, in milliseconds.
class Times {
 public:
  void add(size_t nodes, double ms);
  void sort();  // before any of the following
  size_t count() const { return ms_.size(); }
  size_t nodes() const { return nodes_; }
  double sum() const { return sum_; }
  double mean() const { return ms_.empty() ? 0 : sum_ / double(ms_.size()); }
  double median() const { return quantile(0.5); }
  double p95() const { return quantile(0.95); }
  double max() const { return ms_.empty() ? 0 : ms_.back(); }

 private:
  double quantile(double part) const;  // the least time that this part of all does not exceed
  std::vector<double> ms_;
  double sum_ = 0;
  size_t nodes_ = 0;
};

class BenchReport {
 public:
  BenchReport(const BenchPlan& plan, unsigned threads, const BenchResult& result);
  // With `list` each graph, too.
  std::string text(bool list) const;
  std::string json(bool list) const;

 private:
  Times& times_of(std::string_view name);
  double slower() const { return total_.sum() > 0 ? counted_ms_ / total_.sum() - 1 : 0; }  // by which part of its time
  double runs_per_second() const;

  const BenchPlan& plan_;
  unsigned threads_;
  const BenchResult& result_;
  Times total_;
  std::vector<std::pair<std::string_view, Times>> stages_;  // in the order they first came: that of the pipeline
  size_t refused_ = 0;
  double counted_ms_ = 0;
};

}  // namespace tgc
