// Times one graph through the pipeline, stage by stage. Every run starts from a graph just read; the reading is not timed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "apps/tgc/input.h"

namespace tgc {

// What is timed again and again: small enough to hold thousands.
struct TimedInput {
  std::string name, file, text;  // the graph as pyrender
  Settings settings;
  Target target;
  bool is_tensor_graph = false;
};

struct StageTime {
  std::string_view name;
  size_t nodes = 0;  // of what the stage left: the graph, the list
  double ms = 0;     // elapsed
};

// A kernel from its AST to its linear list, a tensor graph from its sink to its kernels.
struct GraphTime {
  size_t nodes = 0;               // of the AST
  double ms = 0;                  // of all stages but `source` and `program`, in processor time
  double counted_ms = 0;          // the same while rules are counted, if that was asked for
  std::vector<StageTime> stages;  // in order; those that did not apply are left out
};

// Of a file with one tensor graph, a model most of all, all that comes before the compiler: "read" it, "schedule" it, "render" the sources
// of its kernels, equal ones once. `nodes` are those of the tensor graph; the stages are processor time, the nodes of "schedule" the runs of
// kernels and copies, those of "render" the distinct kernels. The fastest of `repeats` runs for the total and as many for the
// stages, after one that warms up.
Result<GraphTime> time_whole(const std::string& spec, const PipelineOptions& options, int repeats);

Result<TimedInput> timed_input(const InputGraph& in, const PipelineOptions& options);

// The least times of `repeats` runs for the total and as many for the stages, after one that warms up; with `count_rules` as many more, in
// turn, that count as `tgc stats` does. The Diag of a graph that the pipeline refuses names stage and node.
Result<GraphTime> time_graph(const TimedInput& in, const PipelineOptions& options, int repeats, bool count_rules = false);

}  // namespace tgc
