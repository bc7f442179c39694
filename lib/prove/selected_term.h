// The contract of sums that select one term, such as the index of a gather: "load collapse" drops their loops.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// If `before` adds up terms of which at most one is not 0, as in sum over r < n of (r == i ? f(r) : 0), returns its
// value without the loop: 0 <= i < n ? f(i) : 0. Else returns null.
UOp selected_term(UOp before);

}  // namespace tgc
