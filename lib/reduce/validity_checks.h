// Conduct: what a kernel does beside its failure. A smaller case that does worse fails for a reason of its own, which
// would be taken for the first one.
#pragma once
#include <mutex>
#include <optional>
#include <span>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Whether bounds leave open that one of the nodes that `accesses` names, LOAD or STORE or both, goes out of its buffer.
// A read of an AST, which is an INDEX alone, counts as a LOAD. When the answer is no, none does.
bool may_leave_buffers(std::span<const UOp> nodes, OpSet accesses);

class ValidityChecks {
 public:
  // `variables` and `in_ref` are those of its runs.
  ValidityChecks(const TestCase& given, VariableValues variables, const ExecuteOptions& in_ref);

  // Whether it has an effect, where the given case had: a kernel that stores nothing is none.
  bool has_effect(const TestCase& c) const;
  // Whether bounds show of an AST that it stays within its buffers, where they show it of the given one. Of graphs of
  // later stages they tell too little.
  bool is_within_bounds(const TestCase& c) const;
  // Whether it stays within its buffers, as REF runs the graph as it stands, where the given case did. Several threads
  // may ask at once, each of a case in a Graph of its own.
  bool stays_within(const TestCase& c) const;

 private:
  bool leaves_buffers(const TestCase& c) const;

  TestCase given_;
  VariableValues variables_;
  ExecuteOptions in_ref_;
  bool stores_, is_bounded_;
  mutable std::mutex lock_;
  mutable std::optional<bool> left_;  // whether the given case leaves its buffers, once that matters
};

}  // namespace tgc
