// Checks that a candidate makes no error that the initial case does not make, because such an error would be
// mistaken for the failure.
#pragma once
#include <mutex>
#include <optional>
#include <span>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns whether a node of these ops (`accesses`: LOAD, STORE or both) may be out of bounds, judged by the
// bounds of its index. In an AST, an INDEX that is read without a LOAD counts as a LOAD.
bool may_leave_buffers(std::span<const UOp> nodes, OpSet accesses);

class ValidityChecks {
 public:
  // `given` is the initial case of the reduction. `variables` and `in_ref` are for runs in REF.
  ValidityChecks(const TestCase& given, VariableValues variables, const ExecuteOptions& in_ref);

  // Returns whether the case stores something; always true if the initial case stores nothing.
  bool has_effect(const TestCase& c) const;
  // Returns whether the bounds of indices prove that an AST stays within its buffers. Always true if they do not
  // prove it for the initial case, and for graphs of later stages, where bounds prove too little.
  bool is_within_bounds(const TestCase& c) const;
  // Returns whether the case stays within its buffers when REF runs it; always true if the initial case does
  // not. Threads may call this at once if each of them passes a case with its own Graph.
  bool stays_within(const TestCase& c) const;

 private:
  bool leaves_buffers(const TestCase& c) const;

  TestCase given_;
  VariableValues variables_;
  ExecuteOptions in_ref_;
  bool stores_, is_bounded_;
  mutable std::mutex lock_;
  mutable std::optional<bool> left_;  // whether the initial case leaves its buffers; computed when needed
};

}  // namespace tgc
