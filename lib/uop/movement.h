// Movement ops and constants with a shape, built as tinygrad's mixin/movement.py and UOp._mop build them: sizes go
// through simplification, the result's shape is checked, and a movement that changes nothing returns its operand.
#pragma once
#include <utility>
#include <vector>

#include "lib/uop/sint.h"

namespace tgc {

using Pairs = std::span<const std::pair<Sint, Sint>>;

// Each throws Failure when the argument does not fit the shape.
UOp reshape(UOp u, Shape shape);         // sizes as given; -1 is not resolved here
UOp forced_reshape(UOp u, Shape shape);  // a RESHAPE even when the shape stays
UOp expand(UOp u, Shape shape);          // broadcasts on the left
UOp permute(UOp u, std::span<const int64_t> order);
UOp pad(UOp u, Pairs amounts);
UOp shrink(UOp u, Pairs bounds);
UOp flip(UOp u, std::span<const bool> axes);

// The movement op with sizes given as tinygrad's _mop takes them; no check for movements that change nothing.
UOp movement_shape(UOp u, Op op, Shape sizes);      // RESHAPE, EXPAND
UOp movement_pairs(UOp u, Op op, Pairs pairs);      // PAD, SHRINK

// A constant reshaped to ones and expanded to `shape`, as UOp.const(..., shape=shape) has it.
UOp expand_const(UOp constant, Shape shape);

// REDUCE_AXIS over the axes whose size is not 1 (UOp.r).
UOp reduce_axis(UOp u, Op op, std::span<const int64_t> axes);

}  // namespace tgc
