// One run of a recorded schedule of a tensor graph: the order of its kernels, what they compute, and the first wrong
// stage. Private to lib/run; README.md describes how the results are compared.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/run/recorded_comparison.h"

namespace tgc {

// One run of a recorded schedule, and further runs with other inputs. The functions throw Failure.
class RecordedRun {
 public:
  RecordedRun(const Session& session, const InputGraph& in, const RunOptions& options, ModelReport& report,
              bool finds_stage)
      : graph_(session, in, options, report), report_(report), finds_stage_(finds_stage) {}

  void run_record();
  const RecordedTensorGraph& graph() const { return graph_; }

  // After run_record(): if may_run_again() and the schedule is small, runs it again with inputs of all sizes
  // (all_sizes.h). If the results differ, makes this run the reported one.
  void run_on_all_sizes();
  // After run_record(): if may_run_again() and some floats were drawn between 0 and 1, runs again with floats of both
  // signs. If the results differ, and those of the graph are all finite, makes this run the reported one.
  void run_on_both_signs();
  // After run_record(): if the run did not fail, and a buffer was not compared because rounding decided too many of its
  // elements, runs again with small whole numbers, which most operations do not round.
  void run_on_whole_numbers();

 private:
  void check_kernel_order();
  // Compares the results of the kernels with those of the graph. Also compares the results of the stages if the record
  // has no kernels, with --each-stage, and if the results differ and the first wrong stage is to be found. With
  // `is_finite`, throws if the graph computes an infinity or a NaN.
  void add_comparison(RecordedComparison& comparison, const SlotArrays& actual, bool is_finite = false);
  // Runs and compares again with the arrays that graph_ has now. Returns the result and the comparisons. If the results
  // differ, they become the report's, and `sizes` describes the arrays. Otherwise restores the report and the arrays,
  // which were `usual`. The result is Trouble if a run or add_comparison() throws.
  std::pair<RunReport::Result, std::vector<Comparison>> run_again(const TensorArrays& usual, std::string_view sizes,
                                                                  bool is_finite = false);
  bool may_run_again() const;  // returns true if run_record() compared drawn inputs in REF with the graph, and passed

  // Finds the first stage after which the graph, and the graphs of all later stages, compute something else.
  // `is_wrong`: the results of the kernels are wrong, too. A stage that differs before a right one is evidence against
  // tgc's import. Stages that differ at the end are evidence against it, too, if the kernels are right.
  void compare_stages(RecordedComparison& comparison, bool is_wrong);
  // Finds the first stage with the fault of a kernel that does not run to its end, such as an access out of bounds.
  void find_faulty_stage(const Diag& fault);
  // Finds a hazard: a kernel that stores to an array and reads elements that other iterations of the store change.
  // `differs`: the results of the schedule are wrong.
  void find_hazard_in_kernels(bool differs);
  void note_import(const std::string& stage);
  void find_wrong_kernels();

  void report_arrays(const SlotArrays& actual, const SlotArrays& expected);
  // keep_arrays() writes the arrays of a failed run to the folder of --save-failures, save_arrays() the results to the
  // file of --save.
  void keep_arrays(const SlotArrays& actual, const SlotArrays& expected);
  void save_arrays();

  RecordedTensorGraph graph_;
  RecordedSides sides_{graph_};
  ModelReport& report_;
  const bool finds_stage_;
  std::set<int64_t> not_compared_, not_decided_;  // slots of buffers
};

}  // namespace tgc
