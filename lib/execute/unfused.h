// Makes a kernel of each operation of a tensor graph. If every kernel of a fused schedule is right, but its results
// differ from those of the unfused kernels, then the schedule itself is wrong.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// Returns the graph with a CONTIGUOUS after each operation and reduction on buffers, so that the scheduler makes a
// kernel for each of them. Results of more than `most_elements` elements stay fused, since they are too large to store.
UOp unfused(UOp sink, int64_t most_elements);

}  // namespace tgc
