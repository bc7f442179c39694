// Computes a recorded tensor graph without a scheduler: in REF or, for large graphs, with compiled kernels.
#pragma once
#include "lib/execute/schedule_run.h"
#include "lib/run/recorded_schedule.h"

namespace tgc {

// A tensor graph of a record as kernels. A slot is the number of a BUFFER in the record's AST.
struct TensorReference {
  std::shared_ptr<Graph> graph;
  TensorProgram program;
  // slot of the buffer with each array's initial content; -1 if there is none
  std::vector<int64_t> input_slots;
  // slot of the buffer that holds each output after the schedule has run, slot_of_value(i) for the value of source i of
  // the sink, or -1 for memory between kernels
  std::vector<int64_t> output_slots;
};

inline int64_t slot_of_value(size_t source) { return -2 - int64_t(source); }

// Imports the AST of `record`. If the AST computes values without storing them, a stage says to which buffers they are
// stored, or (in a record that makes a call, and no kernels) they are outputs. `invalid` replaces Invalid elements.
Result<TensorReference> read_tensor_reference(const Session& session, const GoldenRecord& record, Release release,
                                              const TensorParameters& parameters, int invalid = 0);
// Imports the graph `text` after the stage `name`. The result is empty for a SINK of values that are not stored, if
// it has PARAMs whose arguments are not known.
Result<TensorReference> read_tensor_stage(const Session& session, const GoldenRecord& record, Release release,
                                          const TensorParameters& parameters, std::string_view text,
                                          const std::string& name);

// Runs the kernels of a tensor graph on `place`, or in REF if it is null, and returns the array of each output.
// `contents` has initial contents, by index in TensorProgram::memories. `perturbation`: how to perturb rounding
// (perturb_rounding.h).
Result<std::vector<Array>> run_tensor_program(const TensorProgram& program,
                                              const std::map<size_t, std::shared_ptr<Array>>& contents,
                                              const ScheduleOptions& options, std::optional<int> perturbation = {},
                                              Placement* place = nullptr);

// Arrays by slot. The array of a buffer on several devices has the devices' parts one after another.
using TensorArrays = std::map<int64_t, std::shared_ptr<Array>>;

// As run_tensor_program(), with arrays by slot.
Result<std::map<int64_t, Array>> run_tensor_reference(const TensorReference& reference, const TensorArrays& buffers,
                                                      const ScheduleOptions& options,
                                                      std::optional<int> perturbation = {}, Placement* place = nullptr);

// Returns the first of the copies in `stored` that differs from `expected`, else the last copy.
Array make_differing_copy(const Array& stored, const Array& expected);

}  // namespace tgc
