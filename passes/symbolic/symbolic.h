// The symbolic rules (tinygrad uop/symbolic.py, uop/divandmod.py). Each set holds the ones before it that it is made of.
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& propagate_invalid();  // Invalid moves outward through index arithmetic
const RuleSet& symbolic_simple();    // generic folding, safe for every dtype
const RuleSet& symbolic();           // what simplify() applies

}  // namespace tgc
