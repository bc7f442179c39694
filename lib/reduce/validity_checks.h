// Checks that a candidate does nothing wrong besides the failure: otherwise it would fail for a reason of its own,
// which would be taken for the failure.
#pragma once
#include <mutex>
#include <optional>
#include <span>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns whether bounds leave open that one of the nodes' `accesses` (LOAD, STORE or both) is out of bounds. A read of
// an AST, a bare INDEX, counts as a LOAD.
bool may_leave_buffers(std::span<const UOp> nodes, OpSet accesses);

class ValidityChecks {
 public:
  // `variables` and `in_ref` are those of its runs.
  ValidityChecks(const TestCase& given, VariableValues variables, const ExecuteOptions& in_ref);

  // Returns whether the case stores something, if the given case did.
  bool has_effect(const TestCase& c) const;
  // Returns whether bounds prove that an AST stays within its buffers, if they prove it for the given case. For graphs
  // of later stages bounds prove too little: always true.
  bool is_within_bounds(const TestCase& c) const;
  // Returns whether the case stays within its buffers when REF runs it, if the given case did. Thread-safe, if each
  // thread's case has its own Graph.
  bool stays_within(const TestCase& c) const;

 private:
  bool leaves_buffers(const TestCase& c) const;

  TestCase given_;
  VariableValues variables_;
  ExecuteOptions in_ref_;
  bool stores_, is_bounded_;
  mutable std::mutex lock_;
  mutable std::optional<bool> left_;  // the given case leaves its buffers; computed when needed
};

}  // namespace tgc
