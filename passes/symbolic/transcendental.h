// Transcendental functions spelled out in simpler ops (tinygrad uop/decompositions.py).
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

// base ** exponent by exp2 and log2, with the signs and special cases of pow for floats (xpow).
UOp xpow(UOp base, UOp exponent);

}  // namespace tgc
