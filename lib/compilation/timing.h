// Times one graph through the pipeline, stage by stage. Every run starts from a graph just read; the reading is not
// timed.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compilation/compilation.h"

namespace tgc {

// What is timed again and again: small enough to hold thousands.
struct TimedInput {
  std::string name, file, text;  // the graph as pyrender, which says whose result it is
  Settings settings;
  bool is_tensor_graph = false;
  JobSpec job;
};

struct StageTime {
  std::string_view name;
  size_t nodes = 0;  // of what the stage left: the graph, the list
  double ms = 0;     // elapsed
};

// A kernel from its AST, or from the stage whose result it is, to its linear list; a tensor graph from its sink to its
// kernels.
struct GraphTime {
  size_t nodes = 0;               // of the AST
  double ms = 0;                  // of all stages but `source` and `program`, in processor time
  double counted_ms = 0;          // the same while rules are counted, if that was asked for
  std::vector<StageTime> stages;  // in order; those that did not apply are left out
};

// What a run is for. Walking a graph to count its nodes warms the caches for the next stage, so runs that are timed do
// not count; and to look at the clock after each stage takes a tenth of the time of a small kernel, so the total is
// timed by itself.
enum class RunFor { Nodes, Total, Stages };

// A stop-watch for the steps of a run: what each step took is noted under its name.
class StepTimes {
 public:
  enum class In { Elapsed, ProcessorTime };  // of this thread
  explicit StepTimes(RunFor what, In in = In::Elapsed);

  // The step `name` has ended, and left so many nodes.
  template <class Count>
  void ended(std::string_view name, Count count) {
    if (what_ == RunFor::Total) return;
    double end = now();
    time.stages.push_back({name, what_ == RunFor::Nodes ? count() : 0, end - last_});
    last_ = what_ == RunFor::Nodes ? now() : end;  // counting is not a part of the next step
  }
  // The steps so far are the total.
  void end_of_total();

  GraphTime time;

 private:
  double now() const;
  RunFor what_;
  In in_;
  double start_, last_;
};

// The least times of `repeats` runs of `once` for the total and as many for the stages, after one that counts the nodes
// and warms up.
template <class Once>
Result<GraphTime> fastest(int repeats, Once once) {
  Result<GraphTime> best = once(RunFor::Nodes);
  for (int i = 0; i < repeats && best; i++) {
    Result<GraphTime> total = once(RunFor::Total);
    if (!total) return total;
    Result<GraphTime> time = once(RunFor::Stages);
    if (!time) return time;
    best->ms = i == 0 ? total->ms : std::min(best->ms, total->ms);
    for (size_t s = 0; s < best->stages.size(); s++)
      best->stages[s].ms = i == 0 ? time->stages[s].ms : std::min(best->stages[s].ms, time->stages[s].ms);
  }
  return best;
}

Result<TimedInput> timed_input(const InputGraph& in, const JobSpec& job);

// The least times of `repeats` runs for the total and as many for the stages, after one that warms up; with
// `count_rules` as many more, in turn, that count as `tgc stats` does. The Diag of a graph that the pipeline refuses
// names stage and node.
Result<GraphTime> time_graph(const TimedInput& in, int repeats, bool count_rules = false);

}  // namespace tgc
