// Removes reductions that need no loop: over a range that the value does not depend on, sums of comparisons with a
// range (an arange), and sums that pick one loaded element by a comparison (tinygrad codegen/simplify.py:
// reduce_unparented to pm_load_collapse).
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_reduce_unparented();     // drops ranges that the reduced value does not depend on
const RuleSet& pm_reduce_collapse();       // turns a sum over one range into arithmetic
const RuleSet& pm_reduce_load_collapse();  // pm_reduce_collapse, and sums that select the one element with idx == range
const RuleSet& pm_reduce_simplify();       // tries pm_reduce_collapse on every sum
// The stage "load collapse": tries pm_reduce_load_collapse on every sum over one range.
const RuleSet& pm_load_collapse();

// Returns an expression equal to `reduce`, a sum of `u` over ranges, without these ranges; empty if `rules` keep one.
UOp reduce_collapse(UOp reduce, UOp u, const RuleSet& rules = pm_reduce_collapse());

}  // namespace tgc
