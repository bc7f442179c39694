// Builds movement ops, constants with a shape, and reductions of axes, as tinygrad does (mixin/movement.py, UOp._mop,
// UOp.r). The functions for movement ops simplify symbolic sizes and check the result's shape. Except as stated below,
// they return the operand if its shape would not change; permute and flip do so if the argument is the identity.
#pragma once
#include <utility>

#include "lib/uop/sint.h"

namespace tgc {

using SintPairs = std::span<const std::pair<Sint, Sint>>;

// Throw Failure if the arguments do not fit the shape of `u`; flip does not check `axes` if all elements are false.
UOp reshape(UOp u, Shape shape);         // unlike in Python, a size of -1 is not inferred
UOp force_reshape(UOp u, Shape shape);   // makes a RESHAPE even if the shape does not change
UOp expand(UOp u, Shape shape);          // adds missing leading axes; a size of -1 means: the size of the axis in `u`
UOp permute(UOp u, std::span<const int64_t> order);
UOp pad(UOp u, SintPairs amounts);
UOp shrink(UOp u, SintPairs bounds);
UOp flip(UOp u, std::span<const bool> axes);

// Make a node with the movement op `op`, even if it changes nothing (UOp._mop).
UOp make_shape_movement(UOp u, Op op, Shape sizes);  // `op` is RESHAPE or EXPAND
UOp make_pairs_movement(UOp u, Op op, SintPairs pairs);  // `op` is PAD or SHRINK

// Reshapes a constant to (1, ..., 1) and expands it to `shape`, as UOp.const(..., shape=shape) does.
UOp expand_const(UOp constant, Shape shape);

// Makes a REDUCE_AXIS over those of `axes` whose size is not 1 (UOp.r). Returns `u` if all have size 1. Throws Failure
// if `u` lacks an axis.
UOp reduce_axis(UOp u, Op op, std::span<const int64_t> axes);

}  // namespace tgc
