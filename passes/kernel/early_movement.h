// The stage "early movement ops": an INDEX of a movement op or of a pointer becomes an INDEX of the buffer
// (tinygrad codegen/__init__.py).
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_syntactic_sugar();  // merges an INDEX of a pointer INDEX into one INDEX
const RuleSet& early_movement_ops();  // all rules of the stage: pm_mops() and pm_syntactic_sugar()

}  // namespace tgc
