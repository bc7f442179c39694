// Cuts a kernel: keeps one part of it alone, or replaces parts of it by buffers with the values that REF computes
// for these parts, so that the rest of the kernel computes the same. The resulting graph is well formed.
#pragma once
#include <span>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns whether a node's values can be stored to an array, because it is a number or a vector of numbers.
bool is_storable(UOp u);
// Returns the dtype that the graph uses for indices: dtypes.index, or an integer dtype if indices are lowered already.
DType index_dtype_of(UOp root);
// Returns a kernel that stores only `u` (of a vector, only the first element) to the buffer numbered `buffer`,
// once per iteration of the loops around `u`. Returns the empty UOp if there are too many iterations.
UOp stored_alone(UOp u, int64_t buffer, DType index);
// Returns the value that a kernel with exactly one store stores; the empty UOp if the kernel has several stores.
UOp stored_value(UOp root);
// Returns the case reduced to a kernel that stores only `u`; a case without a root if there can be no such kernel.
TestCase alone(const TestCase& c, UOp u);
// Returns a load of the value of `u` from the buffer that stored_alone() filled; the empty UOp if that is impossible.
UOp loaded_back(UOp u, int64_t buffer, DType index, bool has_loads);
int64_t first_free_buffer(UOp root);
// Returns the case with each node of `parts` replaced by a load from a buffer. REF computes the buffer's values with
// `variables` and `in_ref`. Nodes that cannot be stored stay. Returns a case without a root if no node can be replaced.
TestCase with_buffers(const TestCase& c, std::span<const UOp> parts, const VariableValues& variables,
                      const ExecuteOptions& in_ref);

}  // namespace tgc
