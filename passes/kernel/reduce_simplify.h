// Reductions that need no loop: sums over a range that nothing depends on, sums of comparisons with a range (an
// arange), loads of the one element that a comparison picks (tinygrad codegen/simplify.py: reduce_unparented to
// pm_load_collapse).
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_reduce_unparented();     // drops ranges that the reduced value does not depend on
const RuleSet& pm_reduce_collapse();       // what turns a sum over one range into arithmetic
const RuleSet& pm_reduce_load_collapse();  // the same, loads by an index that equals the range included
const RuleSet& pm_reduce_simplify();       // tries pm_reduce_collapse on every sum
// tries pm_reduce_load_collapse on every sum over one range: the stage "load collapse"
const RuleSet& pm_load_collapse();

// The sum `reduce` of `u` without its ranges, when `rules` can remove them one after another; else the empty UOp.
UOp reduce_collapse(UOp reduce, UOp u, const RuleSet& rules = pm_reduce_collapse());

}  // namespace tgc
