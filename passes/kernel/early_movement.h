// The stage "early movement ops": what indexes a movement op or a pointer indexes the buffer itself (tinygrad
// codegen/__init__.py).
#pragma once
#include "lib/rewrite/rules.h"

namespace tgc {

const RuleSet& pm_syntactic_sugar();  // an INDEX of a pointer INDEX is one INDEX
const RuleSet& early_movement_ops();  // the stage: pm_mops and the above, bottom-up

}  // namespace tgc
