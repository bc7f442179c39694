// Cuts: a part of a kernel alone, and a kernel without a part, which becomes a buffer that holds what REF computes
// there, so that what follows stays the same. A cut leaves a graph well formed where the one before was.
#pragma once
#include <span>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Whether a node's values can be stored to an array: a number, or a vector of numbers.
bool is_storable(UOp u);
// The dtype of indices at the graph's stage: index, until that is lowered.
DType index_dtype_of(UOp root);
// A kernel that stores nothing but the values of `u` in all iterations of the loops that it lies in, in a buffer of
// that number; the empty UOp when they are too many. Of a vector its first element.
UOp stored_alone(UOp u, int64_t buffer, DType index);
// The value that a kernel with one store stores; the empty UOp: there are several.
UOp stored_value(UOp root);
// The case that stores nothing but the values of `u`; an empty graph: it cannot.
TestCase alone(const TestCase& c, UOp u);
// What stands for `u` where its values lie in that buffer as stored_alone leaves them; the empty UOp: nothing does.
UOp loaded_back(UOp u, int64_t buffer, DType index, bool has_loads);
int64_t first_free_buffer(UOp root);
// The case with buffers in the place of `parts`, which hold what REF computes there; parts without values that can be
// stored stay. An empty graph: all of them. `variables` and `in_ref` are those of the runs.
TestCase with_buffers(const TestCase& c, std::span<const UOp> parts, const VariableValues& variables,
                      const ExecuteOptions& in_ref);

}  // namespace tgc
