// ValidityChecker: rejects candidates with an error that the initial case does not have, because this error could be
// mistaken for the failure.
#pragma once
#include <mutex>
#include <optional>
#include <span>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns true if an access may be out of bounds: vmin and vmax of its index allow it, or the buffer is an image.
// `accesses` (LOAD, STORE) are the ops to check. In an AST, an INDEX that is used as a value counts as a LOAD.
bool may_leave_buffers(std::span<const UOp> nodes, OpSet accesses);

class ValidityChecker {
 public:
  // `given` is the initial case. `variables` and `in_ref` are used to run cases in REF.
  ValidityChecker(const TestCase& given, VariableValues variables, const ExecuteOptions& in_ref);

  // Returns true if the case stores something, or if the initial case stores nothing.
  bool has_effect(const TestCase& c) const;
  // Returns true if vmin and vmax of the indices prove that an AST stays within its buffers. Also returns true for
  // graphs after a stage, where vmin and vmax are too wide, and if the initial case is not proven to stay within
  // bounds.
  bool is_within_bounds(const TestCase& c) const;
  // Returns false if REF finds an access out of bounds in the case, but none in the initial case. Several threads may
  // call keeps_bounds_in_ref() if each passes a case with its own Graph.
  bool keeps_bounds_in_ref(const TestCase& c) const;

 private:
  bool leaves_bounds_in_ref(const TestCase& c) const;

  TestCase initial_case_;
  VariableValues variable_values_;
  ExecuteOptions ref_options_;
  bool has_stores_, is_bounded_;
  mutable std::mutex mutex_;
  // unset until it is needed
  mutable std::optional<bool> initial_case_leaves_bounds_;
};

}  // namespace tgc
