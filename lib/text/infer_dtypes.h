// Infers vector lengths that pyrender's text leaves out: `.reduce()` of a vector may return a shorter vector, and
// `.load()` may load a vector of any length. Lengths are inferred from uses: the operands of an arithmetic op have
// equal lengths, a cast keeps the length, and a stored value is as long as its destination.
#pragma once
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// Returns `root` with the inferred lengths. On entry, `open` lists the nodes under `root` of which the text states only
// the element type. On return, `open` lists the nodes whose length could not be inferred; these nodes are unchanged.
UOp infer_lengths(UOp root, std::vector<UOp>& open);

}  // namespace tgc
