// Infers vector lengths that pyrender's text leaves out: `.reduce()` of a vector may return a shorter vector, and
// `.load()` may load a vector of any length. Inferred from the uses: operands of arithmetic have equal lengths, a cast
// keeps the length, and a stored value is as long as its destination.
#pragma once
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// Returns `root` with the inferred lengths. `open`: the nodes under `root` that were read with only their element type
// known; on return, those whose length could not be inferred (they keep the type they were read with).
UOp infer_lengths(UOp root, std::vector<UOp>& open);

}  // namespace tgc
