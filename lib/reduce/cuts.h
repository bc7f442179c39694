// Cuts a kernel: keeps one part alone, or replaces parts of the kernel by buffers that hold the values that REF
// computes for these parts, so that the rest computes the same. The cut graph is well formed.
#pragma once
#include <span>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns whether a node's values can be stored to an array, because it is a number or a vector of numbers.
bool is_storable(UOp u);
// Returns the dtype of indices in the graph: index, or an integer dtype once indices are lowered.
DType index_dtype_of(UOp root);
// Returns a kernel that stores only `u` (for a vector its first element), for all iterations of its loops, in the
// buffer numbered `buffer`; the empty UOp if there are too many iterations.
UOp stored_alone(UOp u, int64_t buffer, DType index);
// Returns the stored value of a kernel with one store; the empty UOp if there are several.
UOp stored_value(UOp root);
// Returns the case that stores only `u`; a case without a root if that is impossible.
TestCase alone(const TestCase& c, UOp u);
// Returns a load of `u` from the buffer that stored_alone() filled; the empty UOp if that is impossible.
UOp loaded_back(UOp u, int64_t buffer, DType index, bool has_loads);
int64_t first_free_buffer(UOp root);
// Returns the case with each node of `parts` replaced by a load from a buffer with its values, computed in REF with
// `variables` and `in_ref`. Nodes that cannot be stored stay; returns a case without a root if no node can.
TestCase with_buffers(const TestCase& c, std::span<const UOp> parts, const VariableValues& variables,
                      const ExecuteOptions& in_ref);

}  // namespace tgc
