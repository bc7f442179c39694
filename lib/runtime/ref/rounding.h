// How exactly a kernel computes, for choosing the tolerance of a comparison between devices.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// Returns the least exact float dtype that the kernel rounds a result to (an ALU op, REDUCE or cast), whatever dtype it
// stores; void_ if there is none. Another summation order, or a fused multiply-add, makes a difference of that dtype's
// rounding. Takes a graph at any stage.
DType coarsest_rounding(UOp root);

// True if the kernel adds up terms: a small sum is only as exact as its large terms. Takes a graph at any stage.
bool adds_up(UOp root);

}  // namespace tgc
