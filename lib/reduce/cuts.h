// Large cuts of a kernel. A cut makes the kernel store only one node, or replaces nodes by loads from buffers with the
// values that REF computed for the nodes. Also has ddmin(), which removes sets of nodes.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "lib/execute/execution.h"
#include "lib/reduce/test_case.h"

namespace tgc {

// Returns true if a cut may store the values of `u`, numbers or vectors of numbers, in an array.
bool is_storable(UOp u);
// Returns the dtype of the graph's indices: dtypes.index, or int32 if no node has that dtype.
DType index_dtype_of(UOp root);
// Returns a kernel that stores only `u` (of a vector, only element 0) to buffer number `buffer`, for each iteration of
// the loops around `u`. `index` is the dtype of indices. Returns the empty UOp if the number of
// iterations is unknown or too large.
UOp single_store_kernel(UOp u, int64_t buffer, DType index);
// Returns the value that the only store of a kernel stores; the empty UOp if there are several stores or none.
UOp stored_value(UOp root);
// Returns the case reduced to a kernel that stores only `u`; a case without a root if no such kernel exists.
TestCase single_store_case(const TestCase& c, UOp u);
// Returns a load of the value of `u` from the buffer that single_store_kernel() fills; the empty UOp if it cannot be
// loaded. All elements of a vector become its element 0. `has_loads`: the kernel has LOADs, and not only INDEXes.
UOp load_of_stored_value(UOp u, int64_t buffer, DType index, bool has_loads);
int64_t first_free_buffer_number(UOp root);  // larger than the numbers of all buffers
// Returns the case with each node of `parts` replaced by a load from a buffer, whose contents REF computes with
// `variables` and the options `in_ref`. Keeps nodes that cannot be stored or computed. Returns a case without a root if
// there are parts, but it keeps all of them.
TestCase replace_by_buffers(const TestCase& c, std::span<const UOp> parts, const VariableValues& variables,
                            const ExecuteOptions& in_ref);

// Delta debugging (Zeller's ddmin): removes sets of nodes from the case `given` until no single node can be removed. A
// removed node `u` is replaced by replacement(u) (steps.h). may_fail() decides whether a smaller case is accepted.
// Returns `given`, followed by all accepted cases, each of which lacks more nodes than the previous one.
std::vector<TestCase> ddmin(const TestCase& given, UOp (*replacement)(UOp),
                            const std::function<bool(const TestCase&)>& may_fail);

}  // namespace tgc
