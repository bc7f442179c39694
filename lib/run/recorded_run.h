// One run of a recorded schedule of a tensor graph: the order of its kernels, what they compute, and the first wrong
// stage. Private to lib/run; README.md describes how the results are compared.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/run/recorded_comparison.h"

namespace tgc {

// The functions throw Failure.
class RecordedRun {
 public:
  RecordedRun(const Session& session, const InputGraph& in, const RunOptions& options, ModelReport& report,
              bool finds_stage)
      : graph_(session, in, options, report), report_(report), finds_stage_(finds_stage) {}

  void run();
  const RecordedTensorGraph& graph() const { return graph_; }

  // After a run() that passed, runs a small schedule again with inputs of all sizes (all_sizes.h). If the results
  // differ, makes this run the reported one.
  void run_on_all_sizes();
  // Runs again with small whole numbers, which most operations do not round, if rounding decided too many elements.
  void run_on_whole_numbers();

 private:
  void check_kernel_order();
  // Compares the results of the kernels with the graph, or else those of the stages.
  void compare(RecordedComparison& comparison, const SlotArrays& actual);
  // Runs and compares with other arrays. Returns the result and the comparisons. Keeps the report unless the results
  // differ; then, `sizes` describes the arrays.
  std::pair<RunReport::Result, std::vector<Comparison>> run_again(const TensorArrays& usual, std::string_view sizes);

  // Finds the first stage after which the graph, and the graphs of all later stages, compute something else.
  // `is_wrong`: the kernels do so, too. Else, a stage that differs between right ones is evidence against tgc's import.
  void compare_stages(RecordedComparison& comparison, bool is_wrong);
  // Finds the first stage with the fault of a kernel that cannot run to its end, such as an access out of bounds.
  void find_faulty_stage(const Diag& fault);
  // A scheduler must not make one kernel of a store and of a read that other iterations of the store change.
  void find_hazard_in_kernels(bool differs);
  void note_import(const std::string& stage);

  void show(const SlotArrays& actual, const SlotArrays& expected);
  // Write the arrays of a failed run to the folder of --save-failures, and the results to the file of --save.
  void keep(const SlotArrays& actual, const SlotArrays& expected);
  void save();

  RecordedTensorGraph graph_;
  RecordedSides sides_{graph_};
  ModelReport& report_;
  const bool finds_stage_;
  std::set<int64_t> not_compared_, not_decided_;  // slots
};

}  // namespace tgc
