// How exactly a kernel computes: what a comparison of two devices may expect of it.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// The least exact float dtype to which a kernel rounds on its way (the result of an ALU op or a REDUCE, a cast),
// whatever it stores; void_: none. There another order of a sum, or a product that is not rounded before it is added,
// shows as a difference of that dtype. Of a graph at any stage.
DType coarsest_rounding(UOp root);

// Whether the kernel adds up: then a small result of large terms is as exact as those terms. Of a graph at any stage.
bool adds_up(UOp root);

}  // namespace tgc
