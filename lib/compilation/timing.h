// Measures how long the pipeline takes for one graph, in total and by stage. Each run reads the graph again, which is
// not timed.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compilation/compilation.h"

namespace tgc {

// A graph to time, as text, so that thousands fit into memory.
struct TimedInput {
  std::string name, file, text;  // `text`: pyrender, with the stage in its header
  Settings settings;
  bool is_tensor_graph = false;
  JobSpec job;
};

struct StageTime {
  std::string_view name;
  size_t nodes = 0;  // of the stage's result
  double ms = 0;     // in the clock of StepTimes
};

// The time of a graph: of a kernel from its input to the linear list, of a tensor graph from its input to the schedule.
struct GraphTime {
  size_t nodes = 0;               // of the AST
  double ms = 0;                  // processor time of all stages except `source` and `program`
  double counted_ms = 0;          // the same while rules are counted; 0: not measured
  std::vector<StageTime> stages;  // in order, without the stages that did not apply
};

// The purpose of a run. Timed runs do not count nodes, because walking the graph warms the caches for the next stage.
// The total has runs of its own, because reading the clock after each stage takes a tenth of the time of a small
// kernel.
enum class RunFor { Nodes, Total, Stages };

// Measures the steps of one run.
class StepTimes {
 public:
  enum class In { Elapsed, ProcessorTime };  // wall time, or processor time of this thread
  explicit StepTimes(RunFor what, In in = In::Elapsed);

  // Records the time of step `name`, which has just ended. `count` returns the number of nodes of its result.
  template <class Count>
  void ended(std::string_view name, Count count) {
    if (what_ == RunFor::Total) return;
    double end = now();
    time.stages.push_back({name, what_ == RunFor::Nodes ? count() : 0, end - last_});
    last_ = what_ == RunFor::Nodes ? now() : end;  // excludes the time of counting
  }
  // Ends the total: later steps do not belong to it.
  void end_of_total();

  GraphTime time;

 private:
  double now() const;
  RunFor what_;
  In in_;
  double start_, last_;
};

// Calls `once` first to count nodes and warm up, then `repeats` times each for the total and for the stages. Returns
// the minimum of each time.
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

// Returns the input for time_graph.
Result<TimedInput> timed_input(const InputGraph& in, const JobSpec& job);

// Returns the minimum times of `repeats` runs, as `fastest` does. With `count_rules`, each run for the total is
// followed by one that counts rules as `tgc stats` does. If a stage fails, the error names the stage and the node.
Result<GraphTime> time_graph(const TimedInput& in, int repeats, bool count_rules = false);

}  // namespace tgc
