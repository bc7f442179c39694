// Cuts a kernel: keeps only one of its nodes, or replaces nodes by loads from buffers that hold the values that REF
// computed for the nodes, so that the rest of the kernel computes the same. The resulting graph is well formed.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns whether values of the node can be stored in an array, because they are numbers or vectors of numbers.
bool is_storable(UOp u);
// Returns the dtype of the graph's indices: dtypes.index, or an integer dtype if a stage lowered the indices already.
DType index_dtype_of(UOp root);
// Returns a kernel that stores only `u` (only element 0 of a vector) to buffer number `buffer`, for each iteration of
// the loops around `u`. Returns the empty UOp if there are too many iterations.
UOp stored_alone(UOp u, int64_t buffer, DType index);
// Returns the value that the only store of a kernel stores; the empty UOp if there are several stores.
UOp stored_value(UOp root);
// Returns the case reduced to a kernel that stores only `u`; a case without a root if no such kernel exists.
TestCase alone(const TestCase& c, UOp u);
// Returns a load of the value of `u` from the buffer that stored_alone() filled; the empty UOp if there can be no load.
UOp loaded_back(UOp u, int64_t buffer, DType index, bool has_loads);
int64_t first_free_buffer(UOp root);
// Returns the case with each node of `parts` replaced by a load from a buffer, whose contents REF computes with
// `variables` and `in_ref`. Keeps nodes that cannot be stored. Returns a case without a root if it replaces no node.
TestCase with_buffers(const TestCase& c, std::span<const UOp> parts, const VariableValues& variables,
                      const ExecuteOptions& in_ref);

// Delta debugging (Zeller's ddmin) on the nodes of a test case. The test is usually the prefilter.

// Removes sets of nodes from the case `given` until no single node can be removed. A removed node `u` is replaced by
// replacement(u) (steps.h). Returns `given` and then all accepted cases in order: may_fail() is true for each of them,
// and each was made from the previous one.
std::vector<TestCase> ddmin(const TestCase& given, UOp (*replacement)(UOp),
                            const std::function<bool(const TestCase&)>& may_fail);

}  // namespace tgc
