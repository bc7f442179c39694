// How long vectors are whose dtype pyrender's text leaves out: `.reduce()` of a vector may give a shorter one,
// `.load()` from an address any. It follows from what they are used with: the operands of arithmetic are equally long,
// a cast keeps the length, a store fills its place.
#pragma once
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// `root` with the lengths that follow. `open` are the nodes below it that were read with the element type alone known;
// those about which nothing follows stay as they were read, and are what is left in `open`.
UOp infer_lengths(UOp root, std::vector<UOp>& open);

}  // namespace tgc
