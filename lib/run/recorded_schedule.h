#pragma once
#include <map>
#include <memory>
#include <vector>

#include "lib/driver/session.h"
#include "lib/execute/executable.h"
#include "lib/import/tensor_graph.h"
#include "passes/tensor/schedule.h"

namespace tgc {

struct ScheduleWithGraphs {
  std::vector<std::shared_ptr<Graph>> graphs;
  Schedule schedule;
};

struct ParsedTensorGraph {
  std::shared_ptr<Graph> graph;
  UOp root;
};

struct RecordedSchedule {
  ScheduleWithGraphs kernels;
  // for each slot of a BUFFER, its buffers in the schedule, one for each device
  std::map<int64_t, std::vector<size_t>> buffer_numbers;
  std::vector<size_t> kernel_numbers;  // number of each item's kernel in the record
};

// The arguments of the call that makes the schedule, by the slot of the PARAM that replaces each in later stages.
struct TensorParameters {
  std::map<int64_t, int64_t> buffer_slots;  // maps the PARAM's slot to the BUFFER's
  TensorVariables variables;
  std::shared_ptr<Graph> graph;  // owns `arguments`
  std::vector<UOp> arguments;    // the PARAM's slot is the index
  // a variable's value and where it comes from: "3, recorded" or "3, given"
  std::map<std::string, std::string> value_sources;
  std::map<std::string, std::pair<int64_t, int64_t>> variable_bounds;

  // Returns the slot of the BUFFER that the PARAM replaces (-1 if the BUFFER has none); nullopt if the PARAM is a
  // variable or unknown.
  std::optional<int64_t> slot_for_param(int64_t param) const {
    auto it = buffer_slots.find(param);
    return it == buffer_slots.end() ? std::nullopt : std::optional(it->second);
  }
};
// Reads the parameters from the AST of `record` or the last stage that is a call; without a call, only the recorded
// values of variables. `given` overrides the values of the call's variables. Fails if a text cannot be read.
Result<TensorParameters> read_parameters(const Session& session, const GoldenRecord& record, Release release,
                                         const VariableValues& given = {});

// Reads a recorded graph. `what` names the text in errors.
Result<ParsedTensorGraph> read_tensor_text(const Session& session, const GoldenRecord& record, Release release,
                                           std::string_view text, const std::string& what);
// Returns the full text of a stage, else its shorter text; null if the stage has neither.
const std::string* text_of_stage(const GoldenStage& stage);

struct BufferSize {
  DType dtype;
  int64_t bytes = 0;
};

// Reads and imports the kernels of `record`. `buffers` has the sizes of the graph's buffers, by slot. Fails, for
// example, if the record has no kernels, or if a kernel cannot be imported.
Result<RecordedSchedule> read_recorded_schedule(const Session& session, const GoldenRecord& record, Release release,
                                                const TensorParameters& parameters,
                                                const std::map<int64_t, BufferSize>& buffers);

// Returns the message for a record whose compilation ended with an error in tinygrad.
std::string refusal_text(const GoldenRecord& record);
int64_t slot_of_buffer(UOp buffer);  // returns -1 if the BUFFER or PARAM has no slot, and for other ops

}  // namespace tgc
