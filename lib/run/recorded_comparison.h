// Runs the kernels of a recorded schedule and the tensor graph in REF, and compares their results. Private to lib/run.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lib/run/recorded_graph.h"

namespace tgc {

using SlotArrays = std::map<int64_t, Array>;  // the keys are slots of buffers

// Runs the two sides of a comparison: the recorded kernels, and the tensor graph. The functions throw Failure.
class RecordedSides {
 public:
  explicit RecordedSides(RecordedTensorGraph& graph) : graph_(graph) {}

  // Chooses where the kernels run: on the device that the options or --native choose; else in REF or, if `runs` runs
  // would take too long in REF, compiled on the CPU. In the last case, the graph runs compiled on the CPU as well;
  // otherwise it runs in REF.
  void choose_place(size_t runs);
  Placement& place() { return *place_; }
  std::string name_of_reference() const;  // returns what reports call the results of the graph
  void run_in_this_process() { runs_in_process_ = true; }

  SlotArrays run_recorded();                              // runs the recorded kernels
  SlotArrays run_reference(std::optional<int> way = {});  // runs the graph; `way`: how to perturb rounding
                                                          // (perturb_rounding.h); nullopt: not at all
  // Runs a variant of the graph: the graph with other numbers for Invalid elements, or the graph after a stage. Runs it
  // in REF unless both sides run compiled and `may_be_compiled` is true.
  Result<SlotArrays> run_graph_variant(const TensorReference& reference, bool may_be_compiled);
  bool is_compiled() const { return is_compiled_; }

 private:
  ScheduleOptions options_for(const Placement& place) const;
  SlotArrays run_kernels();
  template <class Run>
  SlotArrays compiled_or_in_ref(Run run);

  RecordedTensorGraph& graph_;
  std::optional<Placement> place_;
  bool runs_in_process_ = false;  // run REF in this process, because no kernel is compiled
  bool is_compiled_ = false;  // both sides run compiled, because REF would take too long
};

// Compares results with those of the tensor graph, which compute_expected() computes. The functions throw Failure.
class RecordedComparison {
 public:
  // `not_compared`: the slots of buffers whose content depends on a stale read (add_order_notes).
  RecordedComparison(RecordedTensorGraph& graph, RecordedSides& sides, const std::set<int64_t>& not_compared);

  // compute_expected() computes the expected arrays. take_expected() replaces them by those of --expect, and
  // find_invalid() finds their Invalid elements.
  void compute_expected() { expected_arrays_ = sides_.run_reference(); }
  void take_expected();
  void find_invalid();

  // Compares the buffers that the graph stores to, and the values of its sink that `actual` has. With `all`, a buffer
  // that `actual` lacks is assumed to have its initial content. Without `all`, it is not compared, because a later
  // stage stores to it. Leaves out buffers that cannot be compared, such as those of not_decided_slots().
  std::vector<Comparison> compare_arrays(const SlotArrays& actual, bool all = true);

  const SlotArrays& expected_arrays() const { return expected_arrays_; }
  // Returns the slots of buffers that were not compared, because rounding decides many of their elements.
  const std::set<int64_t>& not_decided_slots() const { return not_decided_slots_; }

 private:
  // Returns a copy of `array` with the expected values where Invalid elements are.
  Array without_invalid(const Array& array, int64_t slot) const;
  ToleranceOptions tolerance_for(const Array& expected) const;
  // Returns, by slot, which elements of the reference change if its roundings are perturbed.
  std::map<int64_t, std::vector<bool>>& sensitive_elements();

  RecordedTensorGraph& graph_;
  RecordedSides& sides_;
  const std::set<int64_t>& not_compared_slots_;
  SlotArrays expected_arrays_;
  DType coarsest_dtype_ = dtypes::float64;  // the least exact dtype that the kernels round to
  bool has_sums_ = false;                   // true if a kernel adds up elements
  bool is_rechecked_ = false, was_recheck_cut_ = false;
  // by slot: whether each element depends on rounding; whether it is Invalid
  std::map<int64_t, std::vector<bool>> sensitive_elements_, invalid_elements_;
  std::set<int64_t> not_decided_slots_;
};

}  // namespace tgc
