// Schedules that another tinygrad release recorded, as schedules of tgc's IR.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "lib/driver/session.h"
#include "lib/execute/executable.h"
#include "lib/import/tensor_graph.h"
#include "passes/tensor/schedule.h"

namespace tgc {

// A schedule with the graphs of its kernels.
struct OwnedSchedule {
  std::vector<std::shared_ptr<Graph>> graphs;
  Schedule schedule;
};

// A graph that was read from a text of a record.
struct ParsedTensorGraph {
  std::shared_ptr<Graph> graph;
  UOp root;
};

// The schedule of a recorded tensor graph, with the place of each buffer of the graph in the schedule.
struct RecordedSchedule {
  OwnedSchedule kernels;
  // by slot of a BUFFER: the numbers of its buffers in the schedule, one for each device
  std::map<int64_t, std::vector<size_t>> buffer_numbers;
  std::vector<size_t> kernel_numbers;  // for each item of the schedule: the number of its kernel in the record
};

// The arguments of the call that makes the schedule, by the slot of the PARAM that replaces each in later stages.
struct TensorParameters {
  std::map<int64_t, int64_t> buffer_slots;  // the BUFFER's slot, by the PARAM's slot
  TensorVariables variables;
  std::shared_ptr<Graph> graph;  // the graph that owns `arguments`
  std::vector<UOp> arguments;    // by the PARAM's slot
  // by variable: its value and where it comes from, "3, recorded" or "3, given"
  std::map<std::string, std::string> value_sources;
  std::map<std::string, std::pair<int64_t, int64_t>> variable_bounds;  // bounds of the variables, smallest and largest

  // Returns the slot of the BUFFER that the PARAM of the slot `param` replaces: -1 if the BUFFER has none; nullopt if
  // the PARAM is a variable or unknown.
  std::optional<int64_t> slot_for_param(int64_t param) const {
    auto it = buffer_slots.find(param);
    return it == buffer_slots.end() ? std::nullopt : std::optional(it->second);
  }
};
// Reads the parameters from the AST of `record`, if the AST is a call, else from the last stage that is a call; without
// such a call, the result has only the recorded values of variables. `given` overrides the values of the call's
// variables. Fails if a text cannot be read.
Result<TensorParameters> read_parameters(const Session& session, const GoldenRecord& record, Release release,
                                         const VariableValues& given = {});

// Reads `text`, a graph of `record`. Errors name the record and `what`.
Result<ParsedTensorGraph> read_tensor_text(const Session& session, const GoldenRecord& record, Release release,
                                    std::string_view text, const std::string& what);
// Returns the text of a stage: the complete one, if the record has two; null if the stage has no text of its own.
const std::string* text_of(const GoldenStage& stage);

struct BufferSize {
  DType dtype;
  int64_t bytes = 0;
};

// Reads and imports the kernels of `record`. `buffers` has, by slot, the dtype and the size of the graph's buffers.
// Fails, among other reasons, if the record has no kernels or no list of calls, or if a kernel cannot be imported.
Result<RecordedSchedule> read_recorded_schedule(const Session& session, const GoldenRecord& record, Release release,
                                                const TensorParameters& parameters,
                                                const std::map<int64_t, BufferSize>& buffers);

// Returns the message for a record whose compilation ended with an error in tinygrad (`record.error` is set).
std::string refusal_text(const GoldenRecord& record);
int64_t slot_of_buffer(UOp buffer);  // the number of a BUFFER or PARAM; -1 if it has none

}  // namespace tgc
