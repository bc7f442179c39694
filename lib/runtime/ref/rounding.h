#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// Returns the least exact float dtype to which an ALU op, REDUCE or cast of the kernel rounds, or `known` if none of
// them is less exact. Devices that sum in another order, or fuse multiply-adds, differ by roundings of this dtype.
DType coarsest_rounding(UOp root, DType known = dtypes::void_);

// Returns whether the kernel adds up terms, or may do so in registers.
bool has_summed_terms(UOp root);

}  // namespace tgc
