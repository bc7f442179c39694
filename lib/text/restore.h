// Restores the unique numbers and devices of constants, which pyrender's text leaves out. So the graph that is read is
// equal to the graph that was written.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// pyrender prints a constant on a device without unique number and device if the number is local to a schedule
// (LUNIQUE). The reader recognizes such a constant by its use: under a movement op, next to a bare number, or as the
// target of assign(). Returns a stand-in: a temporary node for the constant, used until the whole text is read.
UOp local_unique_constant(UOp constant, int64_t occurrence);

// Makes c.assign(value) for a constant `c` with a LUNIQUE number. Both `c` and its occurrences in `value`
// become one stand-in. Occurrences below the nodes in `named` are not replaced.
UOp assign_to_local_unique(UOp constant, UOp value, const UOpSet& named, int64_t occurrence);

// pyrender prints a constant on a device as a bare number if the constant is an operand, so the text lacks the device.
// Returns a stand-in: a temporary node for the constant, used until the whole text is read.
UOp constant_on_some_device(UOp constant);

bool is_stand_in(UOp constant);

// Returns `root` with all stand-ins replaced by constants: in a kernel, without a device; otherwise on the graph's
// device, or, of several, on the device of the nodes that use the constant. LUNIQUE numbers are unused numbers in order
// of occurrence. In a graph without devices, a constant with a LUNIQUE number is on the CPU, and others have no device.
UOp restore_constants(UOp root);

}  // namespace tgc
