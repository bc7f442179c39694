// Restores the unique numbers and devices of constants, which pyrender's text leaves out. So the graph that is read is
// equal to the graph that was written.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// pyrender prints a constant on a device without unique number and device if the number is local to a schedule
// (LUNIQUE). The reader recognizes such a constant by its use: under a movement op, next to a bare number, or as the
// target of assign(). This returns a stand-in for the constant, to be used until the whole text is read.
UOp local_unique_constant(UOp constant, int64_t occurrence);

// Makes c.assign(value) for a constant `c` with a LUNIQUE number. Occurrences of this constant within `value` become
// the same stand-in; the search for them does not go below the nodes in `named`.
UOp assign_to_local_unique(UOp constant, UOp value, const UOpSet& named, int64_t occurrence);

// pyrender prints a constant on a device as a bare number if it is an operand. Returns a stand-in for the constant, to
// be used until the whole text is read.
UOp constant_on_some_device(UOp constant);

bool is_stand_in(UOp constant);

// Returns `root` with all stand-ins replaced by constants. Their device is the graph's device; in a graph with several
// devices, that of the nodes that use the constant; in a graph without devices, none. Their LUNIQUE numbers are the
// unused numbers, in order of occurrence.
UOp restore_constants(UOp root);

}  // namespace tgc
