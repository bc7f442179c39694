// Arithmetic on the bits of floats, for the transcendental functions (tinygrad uop/decompositions.py). A float is
// float16, float32 or float64; the integer of its size is int16, int32 or int64. Vectors go element by element.
#pragma once
#include <span>
#include <utility>

#include "lib/uop/uop.h"

namespace tgc {

// The layout of a float.
struct FloatLayout {
  int mantissa_bits;
  int64_t exponent_bias, exponent_mask;
  DType int_dtype, uint_dtype;
};
FloatLayout layout_of(DType d);  // throws Failure unless float16, float32 or float64

UOp shl_by(UOp x, int bits);  // x * 2**bits
UOp shr_by(UOp x, int bits);  // x / 2**bits

UOp round_to_int(UOp d);                            // d as an integer, halves away from 0 (rintk)
// 2**q by putting q into the exponent; an int16 gives half_dtype (pow2if)
UOp pow2_of_int(UOp q, DType half_dtype);
UOp exponent_of(UOp d);                             // floor(log2(d)) of a normal d > 0 (ilogb2k)
// d * 2**e by adding to the exponent; e is an integral float (ldexp3k)
UOp scale_by_bits(UOp d, UOp e);
UOp scale_by_powers(UOp d, UOp e);                  // d * 2**e by two multiplications; e is an integer (ldexp2k)
std::pair<UOp, UOp> mantissa_and_exponent(UOp v);   // v = m * 2**e, m in [0.5, 1), of a v that is not 0 (frexp)

// p[0] * x**(n-1) + ... + p[n-1] by Horner's scheme.
UOp polynomial(UOp x, std::span<const double> p);

// x, but `inf`, `minus_inf` and `nan` where x is that, else `other`.
UOp map_non_finite(UOp x, UOp inf, UOp minus_inf, UOp nan, UOp other);

}  // namespace tgc
