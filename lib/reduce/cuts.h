// Cuts a kernel: a part alone, or the kernel with parts replaced by buffers that hold what REF computes there, so that
// the rest computes the same. A cut keeps a graph well formed.
#pragma once
#include <span>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns whether a node's values can be stored to an array: it is a number, or a vector of numbers.
bool is_storable(UOp u);
// Returns the dtype of indices at the graph's stage: index, until indices are lowered.
DType index_dtype_of(UOp root);
// Returns a kernel that stores only `u` (for a vector its first element), for all iterations of its loops, in the
// buffer of that number; the empty UOp if they are too many.
UOp stored_alone(UOp u, int64_t buffer, DType index);
// Returns the stored value of a kernel with one store; the empty UOp if there are several.
UOp stored_value(UOp root);
// Returns the case that stores only `u`; a case without a root if that is impossible.
TestCase alone(const TestCase& c, UOp u);
// Returns a load of `u` from the buffer that stored_alone() filled; the empty UOp if that is impossible.
UOp loaded_back(UOp u, int64_t buffer, DType index, bool has_loads);
int64_t first_free_buffer(UOp root);
// Returns the case with each of `parts` replaced by a buffer that holds what REF computes there. Parts that cannot be
// stored stay; a case without a root if that is all of them. `variables` and `in_ref` are those of the runs.
TestCase with_buffers(const TestCase& c, std::span<const UOp> parts, const VariableValues& variables,
                      const ExecuteOptions& in_ref);

}  // namespace tgc
