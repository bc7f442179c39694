#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lib/run/recorded_graph.h"

namespace tgc {

using SlotArrays = std::map<int64_t, Array>;  // the keys are slots of buffers or values (slot_of_value)

// Runs the two sides of a comparison: the recorded kernels, and the tensor graph. Throws Failure.
class RecordedGraphRunner {
 public:
  explicit RecordedGraphRunner(RecordedTensorGraph& graph) : graph_(graph) {}

  // Chooses the device that --device names or, with --native, that of the session's default target. Otherwise chooses
  // REF, or the CPU if `runs` runs would take too long in REF. In this last case, the reference graph runs on the CPU,
  // too.
  void choose_place(size_t runs);
  Placement& placement() { return *placement_; }
  std::string name_of_reference() const;
  void run_in_this_process() { should_run_in_process_ = true; }

  SlotArrays run_recorded_kernels();
  // `perturbation`: how to perturb rounding (perturb_rounding.h)
  SlotArrays run_reference(std::optional<int> perturbation = {});
  // Runs `reference`: the graph with other numbers for Invalid elements, or the graph after a stage. It runs in REF
  // unless is_compiled() and `may_be_compiled` are true.
  Result<SlotArrays> run_graph_variant(const TensorReference& reference, bool may_be_compiled);
  bool is_compiled() const { return is_compiled_; }

 private:
  ScheduleOptions options_for(const Placement& placement) const;
  SlotArrays run_kernels();
  template <class Run>
  SlotArrays run_compiled_or_in_ref(Run run);

  RecordedTensorGraph& graph_;
  std::optional<Placement> placement_;
  bool should_run_in_process_ = false;
  bool is_compiled_ = false;  // both sides run compiled, because REF would take too long
};

// Compares results of the recorded kernels, or of a stage, with the expected arrays. Throws Failure.
class RecordedComparison {
 public:
  // `not_compared`: slots of buffers whose content depends on a stale read (add_order_notes).
  RecordedComparison(RecordedTensorGraph& graph, RecordedGraphRunner& graph_runner,
                     const std::set<int64_t>& not_compared);

  // read_expected_arrays() replaces the expected arrays by those of --expect.
  void compute_expected_arrays() { expected_arrays_ = graph_runner_.run_reference(); }
  void read_expected_arrays();
  void find_invalid_values();

  // Compares the buffers that the graph stores to, and the values of its sink that `actual` has, except those that
  // cannot be compared. A buffer that `actual` lacks has its initial content or, without `all`, is left out, because a
  // later stage stores to it.
  std::vector<Comparison> compare_arrays(const SlotArrays& actual, bool all = true);

  const SlotArrays& expected_arrays() const { return expected_arrays_; }
  // Slots of buffers and values that were not compared, because rounding decides many of their elements.
  const std::set<int64_t>& not_decided_slots() const { return not_decided_slots_; }

 private:
  // Replaces Invalid elements by the expected values.
  Array without_invalid_values(const Array& array, int64_t slot) const;
  ToleranceOptions tolerance_for(const Array& expected) const;
  // Finds the elements of the reference that change if its roundings are perturbed, by slot.
  std::map<int64_t, std::vector<bool>>& sensitive_elements();

  RecordedTensorGraph& graph_;
  RecordedGraphRunner& graph_runner_;
  const std::set<int64_t>& not_compared_slots_;
  SlotArrays expected_arrays_;
  DType coarsest_dtype_ = dtypes::float64;  // least exact dtype that the kernels round to
  bool has_sums_ = false;
  bool is_rechecked_ = false, was_recheck_cut_ = false;
  // flags of the elements, by slot: whether an element depends on rounding, and whether it is Invalid
  std::map<int64_t, std::vector<bool>> sensitive_elements_, invalid_elements_;
  std::set<int64_t> not_decided_slots_;
};

}  // namespace tgc
