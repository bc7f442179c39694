// The expander (tinygrad codegen/late/expander.py): turns UPCAST and UNROLL ranges into vectors. A RANGE of such an
// axis becomes an UNROLL of the vector 0..n-1. An UNROLL moves from the sources of an op to its result, so that the op
// computes all elements of the axis at once. A CONTRACT removes axes from an UNROLL and makes them vector elements.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_pre_expander();      // RANGE -> UNROLL; adds CONTRACT to a REDUCE or STORE over unrolled axes
const RuleSet& pm_group_for_reduce();  // computes a REDUCE over GROUP_REDUCE axes through a local buffer
const RuleSet& expander();
const RuleSet& expander_stage();       // all rules of the stage "expander"

}  // namespace tgc
