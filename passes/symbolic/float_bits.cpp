#include "passes/symbolic/float_bits.h"

#include <limits>

namespace tgc {

FloatLayout layout_of(DType d) {
  switch (d.is_value() ? d.scalar_kind() : Scalar::Void) {
    case Scalar::Float16: return {10, 15, 31, dtypes::int16, dtypes::uint16};
    case Scalar::Float32: return {23, 127, 255, dtypes::int32, dtypes::uint32};
    case Scalar::Float64: return {52, 1023, 2047, dtypes::int64, dtypes::uint64};
    default: throw Failure("no expansion of a transcendental function for " + std::string(d.repr()));
  }
}

UOp shl_by(UOp x, int bits) { return x * Const(Int::pow2(uint32_t(bits))); }
UOp shr_by(UOp x, int bits) { return x / Const(Int::pow2(uint32_t(bits))); }

UOp round_to_int(UOp d) {
  DType out = layout_of(d.dtype()).int_dtype.vec(d.dtype().vcount());
  return (d + d.lt(0.0).where(d.const_like(-0.5), d.const_like(0.5))).cast(out);
}

UOp pow2_of_int(UOp q, DType half_dtype) {
  DType out = q.dtype().is(Scalar::Int64)   ? dtypes::float64
              : q.dtype().is(Scalar::Int32) ? dtypes::float32
                                            : half_dtype.scalar();
  FloatLayout layout = layout_of(out);
  return shl_by(q + Const(layout.exponent_bias), layout.mantissa_bits).bitcast(out.vec(q.dtype().vcount()));
}

UOp exponent_of(UOp d) {
  FloatLayout layout = layout_of(d.dtype());
  UOp bits = d.bitcast(layout.int_dtype.vec(d.dtype().vcount()));
  return (shr_by(bits, layout.mantissa_bits) & Const(layout.exponent_mask)) - Const(layout.exponent_bias);
}

UOp scale_by_bits(UOp d, UOp e) {
  FloatLayout layout = layout_of(d.dtype());
  DType bits = layout.int_dtype.vec(d.dtype().count());
  return (d.bitcast(bits) + shl_by(e.cast(bits), layout.mantissa_bits)).bitcast(d.dtype()).cast(d.dtype());
}

UOp scale_by_powers(UOp d, UOp e) {
  UOp half = shr_by(e, 1);
  return (d * pow2_of_int(half, d.dtype())) * pow2_of_int(e - half, d.dtype());
}

std::pair<UOp, UOp> mantissa_and_exponent(UOp v) {
  FloatLayout layout = layout_of(v.dtype());
  // keep: the mask of the sign and mantissa bits (for float64 only the mantissa bits); half: the exponent bits of 0.5
  auto [keep, half] = v.dtype().is(Scalar::Float64)
                          ? std::pair<int64_t, int64_t>(0x000FFFFFFFFFFFFF, 0x3FE0000000000000)
                      : v.dtype().is(Scalar::Float32) ? std::pair<int64_t, int64_t>(0x807FFFFF, 0x3F000000)
                                                      : std::pair<int64_t, int64_t>(0x83FF, 0x3800);
  UOp bits = v.bitcast(layout.uint_dtype.vec(v.dtype().count()));
  UOp exponent = shr_by(bits, layout.mantissa_bits) & Const(layout.exponent_mask);
  return {((bits & Const(keep)) | Const(half)).bitcast(v.dtype()), exponent - Const(layout.exponent_bias) + Const(1)};
}

UOp polynomial(UOp x, std::span<const double> p) {
  UOp sum = Const(0.0) * x + Const(p[0]);
  for (double c : p.subspan(1)) sum = sum * x + Const(c);
  return sum;
}

UOp map_non_finite(UOp x, UOp inf, UOp minus_inf, UOp nan, UOp other) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  return x.ne(kInf).where(x.ne(x).where(nan, x.ne(-kInf).where(other, minus_inf)), inf);
}

}  // namespace tgc
