// Transcendental functions spelled out in simpler ops (tinygrad uop/decompositions.py): accurate to one unit in the
// last place, by the polynomials of SLEEF (arXiv 2001.09258). Arguments are float16, float32 or float64,
// scalar or vector; others throw a Failure.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

UOp xexp2(UOp d);
UOp xlog2(UOp d);
// sin(d): Cody-Waite reduction below 30, Payne-Hanek reduction above.
UOp xsin(UOp d);

// base ** exponent by exp2 and log2, with the signs and special cases of pow for floats (xpow).
UOp xpow(UOp base, UOp exponent);

}  // namespace tgc
