// The symbolic rules (tinygrad uop/symbolic.py, uop/divandmod.py).
// Each set holds the ones before it that it is made of.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& propagate_invalid();     // Invalid moves outward through index arithmetic
const RuleSet& symbolic_simple();       // phase 1: generic folding, safe for every dtype
const RuleSet& commutative();           // one order for the operands of index arithmetic
const RuleSet& div_and_mod_symbolic();  // integer division and remainder
const RuleSet& gep_pushing();           // elements of vectors
const RuleSet& symbolic();              // phase 2, with all of the above: what simplify() applies
// phase 3: symbolic, simplification of valids, and what the stages of a kernel want besides
const RuleSet& sym();

}  // namespace tgc
