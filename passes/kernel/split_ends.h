// An END of several ranges becomes one END for each, innermost first (tinygrad codegen/late/linearizer.py:
// pm_split_ends).
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_split_ends();

}  // namespace tgc
