// Restores the unique numbers and devices of constants, which pyrender text does not state, so that a graph that is
// written and read again is the same.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// Returns a temporary node (a "stand-in") for a constant that has a device and a LUNIQUE number, neither of which
// pyrender prints. The reader recognizes such a constant by its use: under a movement op, next to a bare number, or as
// the target of assign(). restore_constants() replaces the stand-in after the whole text is read.
UOp local_unique_constant(UOp constant, int64_t occurrence);

// Makes constant.assign(value) for a constant with a LUNIQUE number. One stand-in replaces `constant` and its
// occurrences in `value`, except the occurrences below the nodes in `named`.
UOp assign_to_local_unique(UOp constant, UOp value, const UOpSet& named, int64_t occurrence);

// Returns a stand-in for a constant whose device the text does not state, because pyrender prints an operand that is a
// constant on a device as a bare number.
UOp constant_on_some_device(UOp constant);

bool is_stand_in(UOp constant);

// Returns `root` with all stand-ins replaced by constants. In a kernel, the constants have no device. Otherwise they
// are on the graph's device; if the graph has several, on the device of their users; if it has none, constants with a
// LUNIQUE number are on the CPU and others have no device. LUNIQUE numbers are unused numbers in order of occurrence.
UOp restore_constants(UOp root);

}  // namespace tgc
