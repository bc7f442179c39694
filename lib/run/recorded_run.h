// One run of a recorded schedule of a tensor graph: its buffers, its kernels, and the graph in REF. Private to lib/run;
// README.md describes how the results are compared.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/run/run.h"
#include "lib/run/tensor_reference.h"
#include "lib/runtime/npz.h"
#include "lib/validate/kernel_inputs.h"

namespace tgc {

using SlotArrays = std::map<int64_t, Array>;  // by the slot of the buffer

// The name of the array of a buffer, "data3", or of a value of the sink, "value0".
std::string data_name(int64_t slot);

// Returns whether the options ask for no more than a comparison with REF, so that other inputs may be tried as well.
bool only_compares_with_ref(const RunOptions& options);

// The functions throw Failure.
class RecordedRun {
 public:
  RecordedRun(const Session& session, const InputGraph& in, const RunOptions& options, ModelReport& report,
              bool finds_stage)
      : session_(session), in_(in), o_(options), report_(report), release_(in.graph->release()),
        finds_stage_(finds_stage) {}

  void run();

  // The number of UOps that REF evaluates for the recorded kernels or for the tensor graph; 0 before they were read.
  double work() const;

  // After a run() that passed, runs a small schedule again with inputs of all sizes (all_sizes.h). If the results
  // differ, makes this run the reported one.
  void run_on_all_sizes();
  // Runs again with small whole numbers, which most operations do not round, if rounding decided too many elements.
  void run_on_whole_numbers();

  // After run(): returns values of the variables to try besides those of the run: all at their smallest, and all at
  // their largest.
  std::vector<VariableValues> more_values() const;

 private:
  // The values of variables: --var, else the file of --inputs, else the recording.
  void read_variables();

  // ---- the first content of each buffer of the tensor graph
  void draw_buffers();
  void draw_buffers_of(const TensorReference& reference);
  // `copies`: the number of parts that have the same content.
  void draw(int64_t slot, DType dtype, int64_t size, int64_t copies = 1);

  // Runs and compares with other arrays. Returns the result and the comparisons. Keeps the report unless the results
  // differ; then, `sizes` describes the arrays.
  std::pair<RunReport::Result, std::vector<Comparison>> run_again(const TensorArrays& usual, std::string_view sizes);
  // Draws the buffers that may have values of all sizes. Returns whether there are any.
  bool draw_all_sizes(uint64_t turn);

  // The dtype and size of each buffer of the graph.
  std::map<int64_t, BufferSize> sizes() const;

  // ---- the order of the kernels
  void check_kernel_order();

  // ---- Invalid elements: those that differ if Invalid becomes another number
  void find_invalid();
  // Returns a copy of `array` with the expected values where Invalid elements are.
  Array without_invalid(const Array& array, int64_t slot) const;

  ScheduleOptions options_for(const Placement& place) const;

  // ---- the recorded kernels
  SlotArrays run_recorded();

  // ---- the tensor graph in REF
  SlotArrays run_reference(std::optional<int> way = {});
  template <class Run>
  SlotArrays compiled_or_in_ref(Run run);

  void note_tolerance();
  ToleranceOptions tolerance_for(const Array& expected) const;

  // Replaces the arrays that REF computed by those of --expect, which must be arrays of the same buffers.
  void take_expected();

  // Runs the graph in REF, and compares the results of the kernels, or else those of the stages.
  void compare_with_reference(const SlotArrays& actual);

  // Compares the buffers that the graph stores to. If `actual` does not have `all` of them, it was computed from a
  // graph before the stage that stores the others.
  std::vector<Comparison> compare(const SlotArrays& actual, bool all = true);

  // Returns, by slot, which elements change if the roundings of the reference are perturbed.
  std::map<int64_t, std::vector<bool>>& sensitive_elements();

  // ---- the recorded stages in REF

  // Finds the first stage after which the graph, and the graphs of all later stages, compute something else.
  // `is_wrong`: the kernels do so, too. Else, a stage that differs between right ones is evidence against tgc's import.
  void compare_stages(bool is_wrong);
  // Finds the first stage with the fault of a kernel that cannot run to its end, such as an access out of bounds.
  void find_faulty_stage(const Diag& fault);

  // A scheduler must not make one kernel of a store and of a read that other iterations of the store change.
  void find_hazard_in_kernels(bool differs);
  void note_import(const std::string& stage);

  void show(const SlotArrays& actual);

  // Writes the arrays of a failed run to the folder of --save-failures.
  void keep(const SlotArrays& actual);

  // Writes the results to the file of --save.
  void save();

  const Session& session_;
  const InputGraph& in_;
  const RunOptions& o_;
  ModelReport& report_;
  Release release_;
  bool finds_stage_;
  std::optional<Placement> place_;
  TensorParameters parameters_;
  TensorReference reference_;
  std::optional<RecordedSchedule> recorded_;
  Arrays given_;
  TensorArrays buffers_;
  SlotArrays expected_;
  static constexpr double kMostWork = 3e8, kMostOfAllRuns = 2e8;  // of REF, at most 2 s
  static constexpr const char* kRefOfGraph = "REF of the tensor graph";
  bool in_process_ = false;                 // run REF in this process, because no kernel is compiled
  bool is_compiled_ = false;                // both sides run compiled, because REF would take too long
  DType coarsest_ = dtypes::float64;
  bool sums_ = false, rechecked_ = false, recheck_cut_ = false;
  std::map<int64_t, std::vector<bool>> sensitive_, invalid_;  // by slot, for each element
  std::set<int64_t> not_compared_, not_decided_;  // slots
  Floats floats_ = Floats::Normal;
};

}  // namespace tgc
