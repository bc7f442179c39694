// Infers the vector lengths of REDUCE and LOAD nodes, which pyrender's text does not state. A length is inferred from
// the uses of the node: the operands of an arithmetic op have equal lengths, a cast keeps the length, and a stored
// value is as long as its destination.
#pragma once
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// Returns `root` with the inferred lengths. On entry, `open` lists the nodes whose length the text does not state. On
// return, `open` lists those of them whose length could not be inferred; these nodes are unchanged.
UOp infer_lengths(UOp root, std::vector<UOp>& open);

}  // namespace tgc
