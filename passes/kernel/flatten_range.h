// pm_flatten_range: what ends ranges names the RANGE nodes themselves, not expressions of them (tinygrad codegen/simplify.py).
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_flatten_range();

}  // namespace tgc
