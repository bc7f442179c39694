// What pyrender's text leaves out, inferred: so that a graph read from text is the graph that was written.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// A constant that lies on a device and has a unique number is printed without either once that number is local to a
// schedule (LUNIQUE). Such a constant is known by its shape: something moves it. Until the whole text is read, it has
// this stand-in.
UOp local_unique_constant(UOp constant, int64_t occurrence);

// c.assign(value) where `c` is such a constant. What `value` says of the same constant, short of the nodes in `named`,
// is the same one.
UOp assign_to_local_unique(UOp constant, UOp value, const UOpSet& named, int64_t occurrence);

// A constant on a device is printed as a bare number beside an operator. Until the whole text is read, its device has a
// stand-in.
UOp constant_on_some_device(UOp constant);

bool is_stand_in(UOp constant);

// `root` with the stand-ins made constants on the graph's device (of several that of what they are computed with), with
// the numbers that no other LUNIQUE has, in order of occurrence; in a graph without a device constants have none.
UOp restore_constants(UOp root);

}  // namespace tgc
