// Builds movement ops and constants with a shape as tinygrad does (mixin/movement.py, UOp._mop): symbolic sizes are
// simplified, the result's shape is checked, and a movement that does not change the shape returns its operand.
#pragma once
#include <utility>
#include <vector>

#include "lib/uop/sint.h"

namespace tgc {

using Pairs = std::span<const std::pair<Sint, Sint>>;

// Each function throws Failure if its argument does not fit the shape of `u`.
UOp reshape(UOp u, Shape shape);         // does not infer a size of -1
UOp forced_reshape(UOp u, Shape shape);  // makes a RESHAPE even if the shape does not change
UOp expand(UOp u, Shape shape);          // adds missing leading axes; a size of -1 keeps the axis
UOp permute(UOp u, std::span<const int64_t> order);
UOp pad(UOp u, Pairs amounts);
UOp shrink(UOp u, Pairs bounds);
UOp flip(UOp u, std::span<const bool> axes);

// movement_shape and movement_pairs make the movement op `op` even if it does not change the shape (UOp._mop).
UOp movement_shape(UOp u, Op op, Shape sizes);      // for RESHAPE, EXPAND
UOp movement_pairs(UOp u, Op op, Pairs pairs);      // for PAD, SHRINK

// Reshapes a constant to (1, ..., 1) and expands it to `shape`, as UOp.const(..., shape=shape) does.
UOp expand_const(UOp constant, Shape shape);

// Makes a REDUCE_AXIS over the axes in `axes` that have another size than 1. Returns `u` if there is none (UOp.r).
UOp reduce_axis(UOp u, Op op, std::span<const int64_t> axes);

}  // namespace tgc
