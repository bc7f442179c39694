// ReferenceRunner runs kernels in the reference interpreter (REF) and compares stored arrays with the expected ones. An
// element that also changes in REF if roundings are perturbed (perturb_rounding.h) can be left out of the comparison.
#pragma once
#include <optional>
#include <span>

#include "lib/execute/execution.h"
#include "lib/validate/compare_outputs.h"

namespace tgc {

// When to recheck elements that differ. A recheck that exceeds the time limit of one run sets
// Comparison::is_recheck_incomplete of the arrays that still differ.
enum class Recheck : uint8_t {
  Never,    // for example for linear lists, which cannot be perturbed
  IfCheap,  // only if a run evaluates at most 1e6 UOps, or if at most a tenth of each array differs
  Always,
};

// Returns true if Recheck::IfCheap rechecks the kernel `root`, whose first comparison has the result `compared`.
bool is_recheck_cheap(UOp root, const std::vector<Comparison>& compared);

class ReferenceRunner {
 public:
  // `inputs` has arrays of the buffers, by name (data0); `variables` a value for each variable. Both must outlive the
  // runner. Arrays that a kernel reads, but `inputs` lacks, are drawn from `missing`; without `missing`, they are an
  // error. `options` are for each run.
  ReferenceRunner(const Arrays& inputs, const VariableValues& variables, const ExecuteOptions& options = {},
                  std::optional<InputDistribution> missing = {})
      : input_arrays_(inputs), variable_values_(variables), execute_options_(options), missing_inputs_(missing) {}

  // Runs a graph at any stage, a linear list, or an Executable in REF. Fails if REF cannot run the kernel, if an input
  // does not fit, or if the kernel accesses memory out of bounds or exceeds a limit.
  Result<ExecutionResult> run_reference(UOp root) const { return run_reference(Executable::make_for_ref(root)); }
  Result<ExecutionResult> run_reference(std::span<const UOp> list) const {
    return run_reference(Executable::make_for_ref(list));
  }
  Result<ExecutionResult> run_reference(Result<Executable> kernel) const;
  // Returns copies of the inputs that `kernel` (for any device) takes, in the order of its buffers.
  Result<Arrays> inputs_for_kernel(const Executable& kernel) const;

  // Calls compare_outputs(). If arrays differ and `recheck` allows it, runs the graph `root` again to find the elements
  // that depend on rounding: their differences are counted in Comparison::num_left_out. With
  // options.should_accept_rounding, accepts the other differences if rounding explains all of them. `settled` (may be
  // null) gets a copy of `actual`. If differences remain, elements that rounding explains have their expected values
  // there. Fails if compare_outputs() or a recheck does.
  Result<std::vector<Comparison>> compare_arrays(UOp root, const Arrays& actual, const Arrays& expected,
                                                 const CompareOptions& options = {}, Recheck recheck = Recheck::Always,
                                                 Arrays* settled = nullptr) const;

 private:
  void leave_out_sensitive_elements(UOp root, const Arrays& expected, const CompareOptions& options,
                                    std::vector<Comparison>& out, Arrays& settled) const;

  const Arrays& input_arrays_;
  const VariableValues& variable_values_;
  ExecuteOptions execute_options_;
  std::optional<InputDistribution> missing_inputs_;
};

}  // namespace tgc
