// Restores facts that pyrender text does not state: unique numbers and devices of constants, vector lengths, and dtypes
// that operators promote.
#pragma once
#include <optional>
#include <vector>

#include "lib/dtype/dtype.h"
#include "lib/uop/graph.h"

namespace tgc {

// Restores the unique numbers and devices of constants, which pyrender text does not state, so that a graph that is
// written and read again is the same.

// Returns a temporary node (a "stand-in") for a constant that has a device and a LUNIQUE number, neither of which
// pyrender prints. The reader recognizes such a constant by its use: under a movement op, next to a bare number, or as
// the target of assign(). restore_constants() replaces the stand-in after the whole text is read.
UOp local_unique_constant(UOp constant, int64_t occurrence);

// Makes the node of constant.assign(value), for a constant with a LUNIQUE number. One stand-in replaces `constant` and
// its occurrences in `value`, except the occurrences below the nodes in `named`.
UOp make_assign_to_unique_constant(UOp constant, UOp value, const UOpSet& named, int64_t occurrence);

// Returns a stand-in for a constant whose device the text does not state: pyrender prints a constant on a device as a
// bare number if the constant is an operand.
UOp constant_on_some_device(UOp constant);

bool is_stand_in(UOp constant);

// Returns `root` with all stand-ins replaced by constants. In a kernel, the constants have no device. Otherwise they
// are on the graph's device; if the graph has several, on the device of their users; if it has none, constants with a
// LUNIQUE number are on the CPU and others have no device. LUNIQUE numbers are unused numbers in order of occurrence.
UOp restore_constants(UOp root);

// Infers the vector lengths of REDUCE and LOAD nodes, which pyrender's text does not state. A length is inferred from
// the uses of the node: the operands of an arithmetic op have equal lengths, a cast keeps the length, and a stored
// value is as long as its destination.

// Returns `root` with the inferred lengths. On entry, `open` lists the nodes whose length the text does not state. On
// return, `open` lists those of them whose length could not be inferred; these nodes are unchanged.
UOp infer_lengths(UOp root, std::vector<UOp>& open);

// Promotes dtypes as the operators of tinygrad 0.14 do, to infer dtypes that pyrender texts of 0.14 do not state.

// Returns the dtype that two scalar dtypes of 0.14 promote to (dtype.py:least_upper_dtype); nullopt if tinygrad raises.
std::optional<DType> promoted_0_14(DType a, DType b);

}  // namespace tgc
