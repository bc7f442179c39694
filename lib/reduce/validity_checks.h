// Rejects candidates that make an error which the initial case does not make, because this error would be mistaken for
// the failure.
#pragma once
#include <mutex>
#include <optional>
#include <span>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns whether a load or store (`accesses` says which to check) may be out of bounds, according to the vmin and vmax
// of its index. In an AST, an INDEX that is used as a value counts as a LOAD.
bool may_leave_buffers(std::span<const UOp> nodes, OpSet accesses);

class ValidityChecks {
 public:
  // `given` is the initial case. `variables` and `in_ref` are used to run cases in REF.
  ValidityChecks(const TestCase& given, VariableValues variables, const ExecuteOptions& in_ref);

  // Returns whether the case stores something. Always true if the initial case stores nothing.
  bool has_effect(const TestCase& c) const;
  // Returns whether vmin and vmax of the indices prove that an AST stays within its buffers. Always true if they do not
  // prove this for the initial case, and for graphs after a stage, where vmin and vmax are too wide.
  bool is_within_bounds(const TestCase& c) const;
  // Returns whether all accesses stay within their buffers when REF runs the case. Always true if the initial case has
  // an access out of bounds. Several threads may call this if each passes a case with its own Graph.
  bool stays_within(const TestCase& c) const;

 private:
  bool leaves_buffers(const TestCase& c) const;

  TestCase given_;
  VariableValues variables_;
  ExecuteOptions in_ref_;
  bool stores_, is_bounded_;
  mutable std::mutex lock_;
  mutable std::optional<bool> left_;  // whether the initial case has an access out of bounds; computed when needed
};

}  // namespace tgc
