// Computes a recorded tensor graph in the reference interpreter (REF), as the graph says it, without a scheduler.
#pragma once
#include "lib/execute/schedule_run.h"
#include "lib/run/recorded_schedule.h"

namespace tgc {

// A tensor graph of a record as kernels. A slot is the number of a BUFFER in the record's AST.
struct TensorReference {
  std::shared_ptr<Graph> graph;
  TensorProgram program;
  std::vector<int64_t> inputs;   // for each array: the slot of the buffer with its first content; -1 if it has none
  std::vector<int64_t> outputs;  // for each output: the slot of the buffer that holds it after the schedule has run,
                                 // value_slot() of a value of a source of the sink, or -1
};

inline int64_t value_slot(size_t source) { return -2 - int64_t(source); }

// Imports the AST of `record`. If it is a graph of values, a stage tells to which buffers they are stored. Without
// kernels, the values themselves are outputs. `invalid` is the number that Invalid elements get.
Result<TensorReference> read_tensor_reference(const Session& session, const GoldenRecord& record, Release release,
                                              const TensorParameters& parameters, int invalid = 0);
// Imports the graph `text` after the stage `name`. It has no outputs if it has parameters that nobody gave arguments.
Result<TensorReference> read_tensor_stage(const Session& session, const GoldenRecord& record, Release release,
                                          const TensorParameters& parameters, std::string_view text,
                                          const std::string& name);

// Runs the kernels of a tensor graph in REF. Returns the array of each output. `contents` has the first content of the
// arrays that have one. `way`: perturb_rounding.h. With `place`, compiles the kernels for that device instead.
Result<std::vector<Array>> run_tensor_program(const TensorProgram& program,
                                              const std::map<size_t, std::shared_ptr<Array>>& contents,
                                              const ScheduleOptions& options, std::optional<int> way = {},
                                              Placement* place = nullptr);

// Returns the arrays of the outputs by the slots of their buffers, computed in REF. `buffers` has the first content of
// the buffers; one of several devices has the parts of the devices one after another.
using TensorArrays = std::map<int64_t, std::shared_ptr<Array>>;
Result<std::map<int64_t, Array>> run_tensor_reference(const TensorReference& reference, const TensorArrays& buffers,
                                                      const ScheduleOptions& options, std::optional<int> way = {},
                                              Placement* place = nullptr);

// Returns the first of the copies of an array in `stored` that is not `expected`, or the last one.
Array differing_copy(const Array& stored, const Array& expected);

}  // namespace tgc
