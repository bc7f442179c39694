// Expands transcendental functions into simpler ops (tinygrad uop/decompositions.py), accurate to one unit in the last
// place, with the polynomials of SLEEF (arXiv 2001.09258). Arguments are float16, float32 or float64, scalar or vector;
// other dtypes throw Failure.
#pragma once
#include "lib/uop/uop.h"

namespace tgc {

UOp xexp2(UOp d);
UOp xlog2(UOp d);
// sin(d), by Cody-Waite reduction for |d| < 30 and Payne-Hanek reduction otherwise.
UOp xsin(UOp d);

// base ** exponent by exp2 and log2, with the signs and special cases of a float pow (xpow).
UOp xpow(UOp base, UOp exponent);

}  // namespace tgc
