// hand_coded_optimizations: chooses the opts of a kernel that has no opts yet (tinygrad codegen/opt/heuristic.py).
#pragma once
#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

// Returns the kernel with the opts that the heuristics choose for its target. An optional opt that does not fit is
// skipped. A mandatory opt that does not fit throws KernelOptError, as in tinygrad.
Scheduler hand_coded_optimizations(const Scheduler& k);

}  // namespace tgc
