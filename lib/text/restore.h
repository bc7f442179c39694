// Restores constants' unique numbers and devices, which pyrender's text leaves out, so that reading returns the graph
// that was written.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// pyrender prints a constant on a device without its unique number and device if the number is local to a schedule
// (LUNIQUE). The reader recognizes it by its use: under a movement op, next to a bare number, or as the target of
// assign(). Returns a stand-in for it until the whole text is read.
UOp local_unique_constant(UOp constant, int64_t occurrence);

// Makes c.assign(value) for such a constant `c`. Occurrences of the same constant within `value`, not looking below the
// nodes in `named`, become the same stand-in.
UOp assign_to_local_unique(UOp constant, UOp value, const UOpSet& named, int64_t occurrence);

// pyrender prints a constant on a device as a bare number next to an operator. Returns a stand-in for it until the
// whole text is read.
UOp constant_on_some_device(UOp constant);

bool is_stand_in(UOp constant);

// Returns `root` with all stand-ins replaced by constants. Their device is the graph's (if it has several, the device
// of the nodes they are used with; if none, no device). Their LUNIQUE numbers are the unused ones, in order of
// occurrence.
UOp restore_constants(UOp root);

}  // namespace tgc
