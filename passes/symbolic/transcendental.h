// Expands transcendental functions into simpler ops (tinygrad uop/decompositions.py), with the polynomials of SLEEF
// (arXiv 2001.09258). Arguments are float16, float32 or float64, scalar or vector; for other dtypes, xexp2(), xlog2()
// and xsin() throw Failure.
#pragma once
#include <span>
#include <utility>

#include "lib/uop/uop.h"

namespace tgc {

UOp xexp2(UOp d);
UOp xlog2(UOp d);
// sin(d): reduces a small d by Cody-Waite, a large one by Payne-Hanek.
UOp xsin(UOp d);

// base ** exponent by exp2 and log2; for a negative base, negative or NaN as the exponent requires; 0 ** 0 is 1 (xpow).
UOp xpow(UOp base, UOp exponent);

// Arithmetic on the bits of floats (tinygrad uop/decompositions.py). A float is float16, float32 or float64; its
// integer is int16, int32 or int64. Vectors are handled per element.

struct FloatLayout {
  int mantissa_bits;
  int64_t exponent_bias, exponent_mask;
  DType int_dtype, uint_dtype;
};
FloatLayout float_layout_of(DType d);  // throws Failure unless the scalar of `d` is float16, float32 or float64

UOp shift_left_by(UOp x, int bits);  // x * 2**bits
UOp shift_right_by(UOp x, int bits);  // x / 2**bits

UOp round_to_int(UOp d);                            // d rounded to an integer, halves away from 0 (rintk)
// 2**q, by setting the exponent bits to q plus the bias. The result's dtype is `half_dtype` for an int16 q (pow2if).
UOp pow2_of_int(UOp q, DType half_dtype);
UOp exponent_of(UOp d);                             // floor(log2(d)), for a normal d > 0 (ilogb2k)
// d * 2**e, by adding e to the exponent bits; e is a float with an integer value (ldexp3k).
UOp scale_by_bits(UOp d, UOp e);
UOp scale_by_powers(UOp d, UOp e);                  // d * 2**e by two multiplications; e is an integer (ldexp2k)
std::pair<UOp, UOp> mantissa_and_exponent(UOp v);   // (m, e) with v = m * 2**e, m in [0.5, 1), for normal v > 0 (frexp)

// Evaluates p[0] * x**(n-1) + ... + p[n-1] by Horner's scheme, n = p.size().
UOp polynomial(UOp x, std::span<const double> p);

// Selects `inf`, `minus_inf` or `nan` if x has that value, else `other`.
UOp map_non_finite(UOp x, UOp inf, UOp minus_inf, UOp nan, UOp other);

}  // namespace tgc
