// The expander (tinygrad codegen/late/expander.py): UPCAST and UNROLL ranges become vectors. A RANGE of such an axis
// turns into an UNROLL of the vector 0..n-1; an UNROLL moves up through every op, whose result then holds all elements
// of the axis at once; a CONTRACT takes axes out of an UNROLL and makes them the elements of a vector.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_pre_expander();      // ranges to UNROLL; REDUCE and STORE over unrolled axes to CONTRACT
const RuleSet& pm_group_for_reduce();  // a REDUCE over GROUP_REDUCE axes goes through a local buffer
const RuleSet& expander();
const RuleSet& expander_stage();       // the stage "expander"

}  // namespace tgc
