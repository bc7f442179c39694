// One run of a recorded schedule of a tensor graph, and further runs with other inputs. Private to lib/run; README.md
// describes how the results are compared.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/run/recorded_comparison.h"

namespace tgc {

class RecordedRun {
 public:
  RecordedRun(const Session& session, const InputGraph& in, const RunOptions& options, ModelReport& report,
              bool finds_stage)
      : graph_(session, in, options, report), report_(report), should_find_stage_(finds_stage) {}

  void run_record();
  const RecordedTensorGraph& graph() const { return graph_; }

  // After run_record(): if may_run_again(), runs a small schedule again with inputs of all sizes (all_sizes.h). If the
  // results differ, makes this run the reported one.
  void run_on_all_magnitudes();
  // After run_record(): if may_run_again() and some floats were drawn between 0 and 1, runs again with floats of both
  // signs. If the results differ, and those of the graph are finite, makes this run the reported one.
  void run_on_both_signs();
  // After run_record(): if rounding decided too many elements of a buffer, may run again with small whole numbers.
  void run_on_whole_numbers();

 private:
  void check_kernel_order();
  // Compares the results of the kernels with those of the graph, and the stages if the record has no kernels, with
  // --each-stage, or to find the first wrong stage. With `is_finite`, throws if the graph computes an infinity or a
  // NaN.
  void compare_results(RecordedComparison& comparison, const SlotArrays& actual, bool is_finite = false);
  // Runs and compares again with the arrays that graph_ has now. If the results differ, they become the report's, and
  // `sizes` describes the arrays. Otherwise restores the report and the arrays, which were `usual_arrays`. Returns
  // Trouble if a run or the comparison throws.
  std::pair<RunReport::Result, std::vector<Comparison>> rerun_and_compare(const TensorArrays& usual_arrays,
                                                                          std::string_view sizes,
                                                                          bool is_finite = false);
  bool may_run_again() const;

  // Finds the first stage after which the graph, and the graphs of all later stages that run, compute something else.
  // `is_wrong`: the results of the kernels are wrong, too. A stage that differs before a right one is evidence against
  // tgc's import. Stages that differ at the end are evidence against it, too, if the kernels are right.
  void compare_stages(RecordedComparison& comparison, bool is_wrong);
  void find_faulty_stage(const Diag& fault);
  // `differs`: the results of the schedule are wrong.
  void find_hazard_in_kernels(bool differs);
  void add_import_note(const std::string& stage);
  void find_wrong_kernels();

  void report_arrays(const SlotArrays& actual, const SlotArrays& expected);
  // save_failure_arrays() writes to the folder of --save-failures, save_arrays() to the file of --save.
  void save_failure_arrays(const SlotArrays& actual, const SlotArrays& expected);
  void save_arrays();

  RecordedTensorGraph graph_;
  RecordedGraphRunner graph_runner_{graph_};
  ModelReport& report_;
  const bool should_find_stage_;
  std::set<int64_t> not_compared_slots_, not_decided_slots_;
};

}  // namespace tgc
