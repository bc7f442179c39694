// Chooses how the inputs of a kernel are drawn when the user gives none.
#pragma once
#include "lib/runtime/random.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns Floats::Unit if the graph under `root` (a kernel at any stage, or a tensor graph) takes a square root or
// logarithm of a value that may be negative, else Floats::Normal. NaNs of such values would make devices differ:
// renderers compare NaNs differently (C's `<` is false for a NaN, tinygrad's LLVM IR true), and reductions in another
// order pass on others. The result depends on the graph alone, so a seed means the same inputs on every device.
InputDistribution input_distribution(UOp root, uint64_t seed = 0);

}  // namespace tgc
