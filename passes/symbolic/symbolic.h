// The symbolic rule sets (tinygrad uop/symbolic.py, uop/divandmod.py). symbolic_simple() includes propagate_invalid(),
// symbolic() includes all sets declared before it, and sym() includes symbolic().
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& propagate_invalid();     // moves Invalid outward through index arithmetic
const RuleSet& symbolic_simple();       // phase 1: generic folding, safe for every dtype
const RuleSet& commutative();           // sorts the operands of commutative index arithmetic
const RuleSet& div_and_mod_symbolic();  // folds integer division and remainder
const RuleSet& gep_pushing();           // moves GEPs from results to their sources
const RuleSet& symbolic();              // phase 2: the rules that simplify() applies
// phase 3: symbolic(), pm_simplify_valid() and rules that only the stages of a kernel need
const RuleSet& sym();

}  // namespace tgc
