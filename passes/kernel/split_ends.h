// Splits an END of several ranges into one END per range, innermost range first
// (tinygrad codegen/late/linearizer.py:pm_split_ends).
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_split_ends();

}  // namespace tgc
