// Computes a recorded tensor graph without a scheduler: in the reference interpreter (REF) or, for large graphs, with
// compiled kernels.
#pragma once
#include "lib/execute/schedule_run.h"
#include "lib/run/recorded_schedule.h"

namespace tgc {

// A tensor graph of a record as kernels. A slot is the number of a BUFFER in the record's AST.
struct TensorReference {
  std::shared_ptr<Graph> graph;
  TensorProgram program;
  // for each array: the slot of the buffer that has its initial content; -1 if there is none
  std::vector<int64_t> input_slots;
  // for each output: the slot of the buffer that holds it after the schedule has run, value_slot(i) for the value of
  // source i of the sink, or -1 for memory between kernels
  std::vector<int64_t> output_slots;
};

inline int64_t value_slot(size_t source) { return -2 - int64_t(source); }

// Imports the AST of `record`. If the AST computes values without storing them, a stage says to which buffers they are
// stored; in a record without kernels, the values themselves are outputs. `invalid` is the number that replaces Invalid
// elements.
Result<TensorReference> read_tensor_reference(const Session& session, const GoldenRecord& record, Release release,
                                              const TensorParameters& parameters, int invalid = 0);
// Imports the graph `text` after the stage `name`. The result is empty if the graph is a SINK of values that are not
// stored, with PARAMs without arguments.
Result<TensorReference> read_tensor_stage(const Session& session, const GoldenRecord& record, Release release,
                                          const TensorParameters& parameters, std::string_view text,
                                          const std::string& name);

// Runs the kernels of a tensor graph in REF or, with `place`, compiled for that device. Returns the array of each
// output. `contents` has the initial content of the arrays that have one; its keys are indices in
// TensorProgram::memories. `way`: how to perturb rounding (perturb_rounding.h).
Result<std::vector<Array>> run_tensor_program(const TensorProgram& program,
                                              const std::map<size_t, std::shared_ptr<Array>>& contents,
                                              const ScheduleOptions& options, std::optional<int> way = {},
                                              Placement* place = nullptr);

// Arrays by the slots of their buffers. The array of a buffer on several devices has the devices' parts one after
// another.
using TensorArrays = std::map<int64_t, std::shared_ptr<Array>>;

// Returns the arrays of the outputs by the slots of their buffers, computed as by run_tensor_program(). `buffers` has
// the initial content of the buffers.
Result<std::map<int64_t, Array>> run_tensor_reference(const TensorReference& reference, const TensorArrays& buffers,
                                                      const ScheduleOptions& options, std::optional<int> way = {},
                                                      Placement* place = nullptr);

// `stored` holds copies of one array. Returns the first copy that differs from `expected`; if none differs, the last
// copy.
Array differing_copy(const Array& stored, const Array& expected);

}  // namespace tgc
