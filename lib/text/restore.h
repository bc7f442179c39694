// Restores facts that pyrender text does not state: LUNIQUE numbers and devices of constants, vector lengths, and
// dtypes of operators.
#pragma once
#include <optional>
#include <vector>

#include "lib/dtype/dtype.h"
#include "lib/uop/graph.h"

namespace tgc {

// Returns a "stand-in" for a constant that has a device and a LUNIQUE number, neither of which pyrender prints. The
// reader recognizes such a constant by its use: under a movement op, next to a bare number, or as the target of
// assign(). restore_constants() replaces the stand-in after the whole text is read.
UOp make_local_unique_constant(UOp constant, int64_t occurrence);

// Makes the node of constant.assign(value). One stand-in replaces `constant` and its occurrences in `value`, except
// those in the graphs of the nodes in `named`.
UOp make_assign_to_unique_constant(UOp constant, UOp value, const UOpSet& named, int64_t occurrence);

// Returns a stand-in for a constant whose device is unknown: pyrender prints an operand on a device as a bare number.
UOp constant_on_unknown_device(UOp constant);

bool is_stand_in(UOp constant);

// Replaces all stand-ins by constants. In a kernel, they have no device. Otherwise they are on the graph's device; if
// it has several, on that of their users or else the first; if it has none, constants with a LUNIQUE number are on the
// CPU and others have no device. LUNIQUE numbers are unused numbers in order of occurrence.
UOp restore_constants(UOp root);

// Infers the vector lengths of REDUCE and LOAD nodes from their uses: for example, the operands of an arithmetic op
// have equal lengths, and a stored value is as long as its destination. `open` lists the nodes whose length the text
// does not state; on return, those whose length could not be inferred, which are unchanged.
UOp infer_vector_lengths(UOp root, std::vector<UOp>& open);

// Returns the dtype that an operator of tinygrad 0.14 gives to operands of two scalar dtypes
// (dtype.py:least_upper_dtype); nullopt if tinygrad raises an exception.
std::optional<DType> promoted_dtype_0_14(DType a, DType b);

}  // namespace tgc
