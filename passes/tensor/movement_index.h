// Lowers movement ops (RESHAPE, PERMUTE, EXPAND, PAD, SHRINK, FLIP) to index arithmetic.
// Mirrors tinygrad schedule/indexing.py:apply_movement_op and schedule/rangeify.py:pm_mops.
#pragma once
#include <span>
#include <vector>

#include "lib/rewrite/rules.h"
#include "lib/uop/sint.h"

namespace tgc {

// Maps `indices` into the result of `movement`, one for each axis or for each of the first axes, to indices into its
// source. The index of an element that a PAD adds is Invalid. Throws Failure if the indices cannot be mapped.
std::vector<UOp> apply_movement_op(UOp movement, std::span<const UOp> indices);

// Maps `indices` into the shape `to`, one per axis, to indices into the shape `from`, which has as many elements.
std::vector<UOp> apply_reshape(Graph& graph, Shape from, Shape to, std::span<const UOp> indices);

UOp with_first_source(UOp u, UOp first);  // returns `u` with another first source

// Rules that move INDEX and AFTER below a movement op, and drop a movement op below an END.
const RuleSet& pm_mops();

// Rules of nested rewrites of apply_movement_op(): for the indices of a RESHAPE, and for the condition of a PAD.
const RuleSet& reshape_index_rules();
const RuleSet& pad_condition_rules();

}  // namespace tgc
