// A tensor graph with a kernel for each of its operations: what it computes, however they are fused. To find out
// whether a schedule is right whose kernels are.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// The same graph, in which what an operation or a reduction makes of buffers is made contiguous, so that the scheduler
// gives it a kernel of its own. Larger results than `most_elements` stay as they are: nobody could store them.
UOp unfused(UOp sink, int64_t most_elements);

}  // namespace tgc
