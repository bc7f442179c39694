// hand_coded_optimizations: the opts that a kernel gets when nobody says which (tinygrad codegen/opt/heuristic.py).
#pragma once
#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

// The kernel with the opts that the heuristics choose for its target. A step that tries an opt in vain leaves the
// kernel as it was; an opt that must fit and does not throws KernelOptError, as it ends tinygrad.
Scheduler hand_coded_optimizations(const Scheduler& k);

}  // namespace tgc
