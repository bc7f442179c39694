// Movement ops as index arithmetic: what a RESHAPE, PERMUTE, EXPAND, PAD, SHRINK or FLIP does to the index expressions
// of its result. Mirrors tinygrad schedule/indexing.py (apply_movement_op) and schedule/rangeify.py (pm_mops).
#pragma once
#include <span>
#include <vector>

#include "lib/rewrite/rules.h"
#include "lib/uop/sint.h"

namespace tgc {

// The indices into the source of `movement`, given those into its result. Where a PAD adds elements, the index is
// gated: invalid there. Throws Failure when `movement` is no movement op.
std::vector<UOp> apply_movement_op(UOp movement, std::span<const UOp> indices);

// The same for a reshape of `from` to `to`; `indices` has one expression per size of `to`.
std::vector<UOp> apply_reshape(Graph& graph, Shape from, Shape to, std::span<const UOp> indices);

// A movement op below an INDEX becomes part of the index; below an AFTER or END it moves above or away.
const RuleSet& pm_mops();

// What apply_movement_op rewrites the indices of a RESHAPE with, and the gates of a PAD.
const RuleSet& reshape_rules();
const RuleSet& pad_rules();

}  // namespace tgc
