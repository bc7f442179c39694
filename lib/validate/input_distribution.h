// How the inputs of a kernel are drawn when nobody gives them.
#pragma once
#include "lib/runtime/random.h"
#include "lib/uop/uop.h"

namespace tgc {

// Unit when the graph under `root` takes a square root or a logarithm of what may be negative: the NaNs it would make
// are compared differently by renderers (C's `<` is false of a NaN, that of tinygrad's LLVM IR true), and what becomes
// of them depends on the order of a reduction. Else Normal. It depends on the graph alone, so that a seed means the
// same inputs on every device and for every comparison. Of a kernel at any stage, or a tensor graph.
Floats floats_for(UOp root);

}  // namespace tgc
