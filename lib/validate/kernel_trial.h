// One trial of a kernel: values of its variables, input arrays, a reference, and the comparison of a candidate with it.
//
//   KernelTrial trial(ast, {}, {.variables = {{"n", 3}}});
//   trial.begin(candidate).value_or_throw();                       // chooses variables and inputs
//   auto expected = trial.reference();                             // what the AST computes in REF
//   auto stored = execute(candidate, device, trial.inputs(), trial.variables(), options);
//   auto arrays = trial.compare(stored->outputs, expected->outputs);  // rechecks what rounding may decide
//
// A DeadlineScope (lib/support/deadline.h) around these calls is the work limit of all of them together.
#pragma once
#include <optional>
#include <span>

#include "lib/validate/kernel_inputs.h"
#include "lib/validate/reference_runner.h"

namespace tgc {

// The inputs and options of a trial.
struct TrialInputs {
  Arrays arrays = {};                 // given arrays, by name (data0), and variables as arrays of one integer
  std::string file = {};              // the file of `arrays`, for messages
  std::optional<uint64_t> seed = 0;   // seed of arrays and variables that are not given; unset: all must be given
  VariableValues variables = {};      // --var
  VariableValues recorded = {};       // values that the recorded program bound
};

// Converts the arrays of the file `file` to the dtypes of the kernel. Fails unless they are exactly those that the
// kernel stores.
Status take_expected(Arrays& expected, const Executable& kernel, const std::string& file);

class KernelTrial {
 public:
  // The kernel is `root`, a graph at any stage, or `list`, a linear list whose graph is `root`, if it is not empty. The
  // nodes of `list` must outlive the trial. `ref` sets the process and the time limit of each run in REF.
  KernelTrial(UOp root, std::span<const UOp> list, TrialInputs given, const ExecuteOptions& ref = {});

  // Chooses the values of the variables of `kernel`, which computes the same as the trial's kernel, and its arrays.
  // Errors: an array is missing or has another dtype or size, a variable has no value or one outside of its bounds.
  Status begin(const Executable& kernel);
  // Instead takes what an earlier trial of the kernel chose.
  void begin(ChosenVariables chosen, Arrays inputs);

  const ChosenVariables& chosen() const { return chosen_; }
  const VariableValues& variables() const { return variables_; }
  const Arrays& inputs() const { return inputs_; }
  const Arrays& file_arrays() const { return given_.arrays; }
  // The distribution of what is drawn; unset without a seed. draws(kernel): an array that the kernel reads is drawn.
  const std::optional<InputDistribution>& distribution() const { return draw_; }
  bool draws(const Executable& kernel) const;

  // Returns the arrays of another executable of the kernel: inputs(), and more arrays that are given or drawn.
  Result<Arrays> inputs_for(const Executable& kernel) const;
  // Returns arrays of the set `set` for the trial's graph (redraw_inputs); none if no array can have them.
  Result<Arrays> inputs_of(InputSet set) const;

  // Runs the trial's kernel in REF.
  Result<Execution> reference() const;
  // Compares what a candidate stored with the expected arrays. Elements that differ are rechecked, except in a trial of
  // a linear list. See ReferenceRunner::compare for `settled`.
  Result<std::vector<Comparison>> compare(const Arrays& actual, const Arrays& expected,
                                          const CompareOptions& options = {}, Recheck recheck = Recheck::Always,
                                          Arrays* settled = nullptr) const;

 private:
  ReferenceRunner runner() const { return ReferenceRunner(inputs_, variables_, ref_, draw_); }

  UOp root_;
  std::span<const UOp> list_;
  TrialInputs given_;
  ExecuteOptions ref_;
  std::optional<InputDistribution> draw_;
  ChosenVariables chosen_;
  VariableValues variables_;
  Arrays inputs_;
};

}  // namespace tgc
