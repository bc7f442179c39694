// Removes reductions that need no loop: reductions over a range that the value does not depend on, sums of comparisons
// with a range (an arange), and sums in which a comparison selects one loaded element (tinygrad codegen/simplify.py:
// reduce_unparented to pm_load_collapse).
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_reduce_unparented();     // drops ranges that the reduced value does not depend on
const RuleSet& pm_reduce_collapse();       // turns a sum over one range into arithmetic
const RuleSet& pm_reduce_load_collapse();  // pm_reduce_collapse, and sums that select the one element with idx == range
const RuleSet& pm_reduce_simplify();       // tries pm_reduce_collapse on every sum
const RuleSet& pm_load_collapse();         // stage "load collapse": pm_reduce_load_collapse for sums over one range

// `reduce` is a REDUCE that sums `u` over ranges. Returns an equal expression without these ranges, if `rules` can
// remove them one by one; else the empty UOp.
UOp reduce_collapse(UOp reduce, UOp u, const RuleSet& rules = pm_reduce_collapse());

}  // namespace tgc
