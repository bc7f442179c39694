// KernelTrial: one trial of a kernel, which chooses the values of its variables and its arrays, runs the reference, and
// compares the results of a candidate with those of the reference.
//
//   KernelTrial trial(ast, {}, {.variables = {{"n", 3}}});
//   trial.begin_trial(candidate).value_or_throw();  // chooses variables and inputs
//   auto expected = trial.run_reference();          // what the AST computes in REF
//   auto stored = execute_kernel(candidate, device, trial.inputs(), trial.variables(), options);
//   auto arrays = trial.compare_arrays(stored->outputs, expected->outputs);  // rechecks what rounding may decide
//
// A DeadlineScope (lib/support/deadline.h) around these calls is the time limit of all of them together.
#pragma once
#include <optional>
#include <span>

#include "lib/validate/kernel_inputs.h"
#include "lib/validate/reference_runner.h"

namespace tgc {

struct TrialInputs {
  Arrays arrays = {};                      // given arrays, by name (data0), and variables as arrays of one integer
  std::string arrays_file = {};
  std::optional<uint64_t> seed = 0;        // seed of random arrays and variables; unset: all values must be given
  VariableValues variables = {};           // --var
  VariableValues recorded_variables = {};  // values that the recorded program gave the variables
};

// Converts `expected`, the arrays of the file `file`, to the dtypes of the kernel. Fails unless they are exactly the
// arrays that the kernel stores, with dtypes and sizes that fit.
Status take_expected_arrays(Arrays& expected, const Executable& kernel, const std::string& file);

class KernelTrial {
 public:
  // The kernel is `list`, a linear list whose graph is `root`; if `list` is empty, `root`, a graph at any stage. The
  // nodes of `list` must outlive the trial. `ref` has the options of runs in REF.
  KernelTrial(UOp root, std::span<const UOp> list, TrialInputs given, const ExecuteOptions& ref = {});

  // Chooses the values of the variables of `kernel`, which computes the same as the trial's kernel, and its arrays.
  // Fails if an array or a value is missing or does not fit.
  Status begin_trial(const Executable& kernel);
  // Instead of choosing, uses the variables and arrays of an earlier trial of the kernel.
  void begin_trial(ChosenVariables chosen, Arrays inputs);

  const ChosenVariables& chosen_variables() const { return chosen_variables_; }
  const VariableValues& variables() const { return variable_values_; }
  const Arrays& inputs() const { return input_arrays_; }
  const Arrays& file_arrays() const { return given_inputs_.arrays; }
  // Returns the distribution of drawn arrays; unset if there is no seed.
  const std::optional<InputDistribution>& distribution() const { return input_distribution_; }
  bool has_drawn_arrays(const Executable& kernel) const;  // true if an array that `kernel` reads is drawn
  // Returns the arrays for another executable of the kernel. Takes those that inputs() lacks from the given arrays, or
  // draws them. Fails if an array is missing or does not fit.
  Result<Arrays> inputs_for_kernel(const Executable& kernel) const;
  // Returns inputs of the trial's kernel, with arrays redrawn from `set` (redraw_inputs); no arrays if none is redrawn.
  Result<Arrays> inputs_of(InputSet set) const;

  Result<ExecutionResult> run_reference() const;
  // Calls ReferenceRunner::compare_arrays() for the arrays that a candidate stored. Never rechecks a linear list.
  Result<std::vector<Comparison>> compare_arrays(const Arrays& actual, const Arrays& expected,
                                                 const CompareOptions& options = {}, Recheck recheck = Recheck::Always,
                                                 Arrays* settled = nullptr) const;

 private:
  ReferenceRunner reference_runner() const {
    return ReferenceRunner(input_arrays_, variable_values_, ref_options_, input_distribution_);
  }

  UOp root_;
  std::span<const UOp> linear_list_;
  TrialInputs given_inputs_;
  ExecuteOptions ref_options_;
  std::optional<InputDistribution> input_distribution_;
  ChosenVariables chosen_variables_;
  VariableValues variable_values_;
  Arrays input_arrays_;
};

}  // namespace tgc
