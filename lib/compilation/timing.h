// Measures how long tgc's own pipeline takes for one graph, in total and for each stage. Reading the graph is not
// timed.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lib/compilation/compilation.h"

namespace tgc {

// A graph to time, stored as text, so that thousands of graphs fit into memory.
struct TimedInput {
  std::string name, file, text;  // `text` is pyrender text, as write_graph() returns it
  Settings settings;
  bool is_tensor_graph = false;
  CompilationSpec job_spec;
};

struct StageTime {
  std::string_view name;
  size_t num_nodes = 0;  // number of nodes in the stage's result
  double stage_ms = 0;   // wall time or processor time, as StageTimer::ClockKind says
};

struct GraphTime {
  size_t num_nodes = 0;           // number of nodes in the input graph
  double stages_ms = 0;           // processor time of the stages, for a kernel without `source` and `program`
  double counting_run_ms = 0;     // processor time of a run that counts attempts of rules; 0 if not measured
  std::vector<StageTime> stages;
};

// The quantity that one run measures. Counting nodes warms the caches for the next stage, and reading the clock after
// each stage takes time itself, so each purpose needs a run of its own.
enum class RunPurpose { Nodes, Total, Stages };

class StageTimer {
 public:
  enum class ClockKind { Elapsed, ProcessorTime };  // wall time; processor time of this thread
  explicit StageTimer(RunPurpose what, ClockKind in = ClockKind::Elapsed);

  // Unless the run is for RunPurpose::Total, records the time of the step `name`, which just ended. count() returns the
  // number of nodes in the result of the step.
  template <class Count>
  void end_stage(std::string_view name, Count count) {
    if (run_purpose_ == RunPurpose::Total) return;
    double end = now_ms();
    graph_time.stages.push_back({name, run_purpose_ == RunPurpose::Nodes ? count() : 0, end - last_time_ms_});
    last_time_ms_ = run_purpose_ == RunPurpose::Nodes ? now_ms() : end;  // do not time count()
  }
  // Steps that end later are not part of the total time.
  void end_total_time();

  GraphTime graph_time;

 private:
  double now_ms() const;
  RunPurpose run_purpose_;
  ClockKind clock_kind_;
  double start_time_ms_, last_time_ms_;
};

// Calls once(RunPurpose::Nodes) to count nodes and warm up, then `repeats` times once(RunPurpose::Total) and
// once(RunPurpose::Stages). Returns the minimum of each time, or the first error of once().
template <class Once>
Result<GraphTime> fastest_time(int repeats, Once once) {
  Result<GraphTime> best_time = once(RunPurpose::Nodes);
  for (int i = 0; i < repeats && best_time; i++) {
    Result<GraphTime> total = once(RunPurpose::Total);
    if (!total) return total;
    Result<GraphTime> time = once(RunPurpose::Stages);
    if (!time) return time;
    best_time->stages_ms = i == 0 ? total->stages_ms : std::min(best_time->stages_ms, total->stages_ms);
    for (size_t s = 0; s < best_time->stages.size(); s++)
      best_time->stages[s].stage_ms =
          i == 0 ? time->stages[s].stage_ms : std::min(best_time->stages[s].stage_ms, time->stages[s].stage_ms);
  }
  return best_time;
}

// Returns the input for time_graph(). Fails if the graph cannot be printed.
Result<TimedInput> make_timed_input(const InputGraph& in, const CompilationSpec& job);

// Returns the minimum times of `repeats` runs. With `count_rules`, further runs count rules. Fails if the graph cannot
// be read or compiled, but ignores errors of the renderer.
Result<GraphTime> time_graph(const TimedInput& in, int repeats, bool count_rules = false);

}  // namespace tgc
