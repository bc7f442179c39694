#include "passes/symbolic/transcendental.h"

#include <limits>
#include <numbers>

#include "lib/uop/graph.h"

namespace tgc {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// coefficients of a polynomial that approximates 2**x on [-1/2, 1/2], highest power first
constexpr double kExp2Double[] = {0.4434359082926529454e-9, 0.7073164598085707425e-8, 0.1017819260921760451e-6,
                                  0.1321543872511327615e-5, 0.1525273353517584730e-4, 0.1540353045101147808e-3,
                                  0.1333355814670499073e-2, 0.9618129107597600536e-2, 0.5550410866482046596e-1,
                                  0.2402265069591012214e+0, 0.6931471805599452862e+0, 0.1000000000000000000e+1};
constexpr double kExp2[] = {
    0.1535920892e-3, 0.1339262701e-2, 0.9618384764e-2, 0.5550347269e-1, 0.2402264476e+0, 0.6931471825e+0, 1.0};

// coefficients of a polynomial in x**2 for (log2((1 + x) / (1 - x)) - 2x / ln 2) / x**3, highest power first
constexpr double kLog2Double[] = {0.2211941750456081490e+0, 0.2200768693152277689e+0, 0.2623708057488514656e+0,
                                  0.3205977477944495502e+0, 0.4121985945485324709e+0, 0.5770780162997058982e+0,
                                  0.96179669392608091449};
constexpr double kLog2[] = {0.4374550283e+0, 0.5764790177e+0, 0.9618012905120};

// Returns (upper, lower): xexp2(x) is infinite for x >= upper and 0 for x < lower.
std::pair<int, int> exp2_limits(DType d) {
  if (d.is(Scalar::Float64)) return {1024, -2000};
  return d.is(Scalar::Float32) ? std::pair(128, -150) : std::pair(23, -22);
}

}  // namespace

UOp xexp2(UOp d) {
  float_layout_of(d.dtype());
  UOp zero = d.const_like(0.0);
  UOp x = map_non_finite(d, zero, zero, zero, d);
  UOp q = round_to_int(x), s = x - q.cast(x.dtype());
  bool is_double = d.dtype().is(Scalar::Float64);
  UOp u = scale_by_powers(is_double ? polynomial(s, kExp2Double) : polynomial(s, kExp2), q);
  auto [upper, lower] = exp2_limits(d.dtype());
  u = d.ge(upper).where(d.const_like(kInf), u);
  u = d.lt(lower).where(zero, u);
  return d.ne(d).where(d.const_like(kNan), u);
}

UOp xlog2(UOp d) {
  float_layout_of(d.dtype());
  bool is_half = d.dtype().is(Scalar::Float16), is_double = d.dtype().is(Scalar::Float64);
  int denormal_exponent = is_half ? 10 : 64;  // 2**64 overflows float16
  UOp is_denormal = d.lt(is_half ? 6.1e-5 : 1e-4);
  UOp a = is_denormal.where(d * Const(Int::pow2(uint32_t(denormal_exponent))), d);

  UOp e = exponent_of(a * Const(1.0 / 0.75)).cast(a.dtype());
  UOp m = scale_by_bits(a, -e);
  e = is_denormal.where(e - Const(denormal_exponent), e);

  UOp x = fdiv(m - Const(1.0), m + Const(1.0)), x2 = x * x, r;
  if (is_double) {
    r = polynomial(x2, kLog2Double) * (x * x2) + e + x * Const(2.885390081777926774);
  } else {
    r = polynomial(x2, kLog2) * (x * x2) + e + x * Const(2.8853900432586669922);
    r = is_half ? r + Const(0) : r + x * Const(3.2734474483568488616e-08);  // the low part of 2 / ln 2; not for float16
  }
  r = d.ne(kInf).where(r, r.const_like(kInf));
  r = d.ne(0.0).where(r, r.const_like(-kInf));
  r = d.lt(-0.0).where(r.const_like(kNan), r);
  r = d.ne(d).where(r.const_like(kNan), r);
  // log2(-0.0) is -infinity; some targets evaluate -0.0 != 0.0 to true, so test 1 / d, too
  return d.reciprocal().ne(-kInf).where(r, r.const_like(-kInf));
}

UOp xpow(UOp base, UOp exponent) {
  UOp power = (base.lt(0).where(-base, base).log2() * exponent).exp2();
  // for a negative base, the result is NaN if the exponent is not an integer, and negative if the exponent is odd
  UOp fraction = exponent.ne(exponent.cast(dtypes::int32).cast(exponent.dtype()));
  UOp odd = (exponent.lt(0).where(-exponent, exponent).cast(dtypes::int32) % Const(2)).cast(dtypes::bool_);
  UOp sign = fraction.where(power.const_like(kNan), odd.where(power.const_like(-1), power.const_like(1)));
  return (base.eq(0) & exponent.eq(0)).where(power.const_like(1), power * base.lt(0).where(sign, power.const_like(1)));
}

// Expands sin: reduces the argument modulo pi or pi/2, then evaluates a polynomial (tinygrad uop/decompositions.py:
// payne_hanek_reduction, cody_waite_reduction, xsin).

namespace {

constexpr double kPi = std::numbers::pi;

// A reduced argument: the remainder modulo pi (Cody-Waite) or pi/2 (Payne-Hanek) and the int32 quotient.
struct ReducedAngle {
  UOp remainder, quotient;
};

// ---- Payne-Hanek, for large arguments: multiplies by those bits of 2/pi that affect the result modulo 2 * pi

constexpr int64_t kTwoOverPi[] = {0x00000000, 0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410};
constexpr int kNumTwoOverPi = std::size(kTwoOverPi);

// Selects kTwoOverPi[i + offset] by comparing i with 0, 1, ...
UOp select_two_over_pi(UOp zero, UOp i, int offset) {
  UOp value = zero;
  for (int k = kNumTwoOverPi - 2 - offset; k >= 0; k--)
    value = i.ne(k).where(value, zero.const_like(kTwoOverPi[k + offset]));
  return value;
}

ReducedAngle reduce_payne_hanek(UOp d) {
  DType wide = d.dtype().is(Scalar::Float16) ? dtypes::float32.vec(d.dtype().count()) : d.dtype();
  auto [f, exponent] = mantissa_and_exponent(d);
  UOp ia = (f.cast(wide) * Const(4.294967296e9)).cast(dtypes::uint64);
  UOp i = shift_right_by(exponent.cast(dtypes::uint64), 5);
  UOp e = exponent.cast(dtypes::int32) & Const(31);
  UOp rest = Const(32) - e;

  auto power = [&](UOp y) { return pow2_of_int(y, d.dtype()).cast(dtypes::uint64); };
  auto shifted_up = [&](UOp x, UOp y) { return (x.cast(dtypes::uint64) * power(y)).cast(dtypes::uint32); };
  auto shifted_down = [&](UOp x, UOp y) { return (x.cast(dtypes::uint64) / power(y)).cast(dtypes::uint32); };
  UOp a[4], zero = d.graph().constant(dtypes::uint32.vec(d.dtype().count()), 0);
  for (int k = 0; k < 4; k++) a[k] = select_two_over_pi(zero, i, k);
  UOp hi = shifted_up(a[0], e) | shifted_down(a[1], rest);
  UOp mi = shifted_up(a[1], e) | shifted_down(a[2], rest);
  UOp lo = shifted_up(a[2], e) | shifted_down(a[3], rest);

  auto product = [](UOp x, UOp y) { return x.cast(dtypes::uint64) * y.cast(dtypes::uint64); };
  UOp p = shift_left_by(product(ia, hi), 32) + product(ia, mi) + shift_right_by(product(ia, lo), 32);
  UOp q = shift_right_by(p, 62).cast(dtypes::int32);
  UOp fraction = p & Const(int64_t(0x3fffffffffffffff));
  UOp r = (fraction.cast(wide) * Const(3.4061215800865545e-19)).cast(d.dtype());
  // if the mantissa f is at least 0.5, subtract pi/2 from the remainder and add 1 to the quotient, as tinygrad does
  UOp below_half = f.lt(0.5);
  return {below_half.where(r, r - Const(kPi / 2)), below_half.where(q, q + Const(1))};
}

// ---- Cody-Waite, exact enough below 39800: subtracts q * pi in parts, so that rounding errors stay small

// Returns x - q * pi. For float64, `q` is only the low part of the quotient and `qdh` is the high part.
UOp subtract_pi(UOp x, UOp q, UOp qdh) {
  switch (x.dtype().scalar_kind()) {
    case Scalar::Float64: {
      constexpr double kA = 3.1415926218032836914, kB = 3.1786509424591713469e-08, kC = 1.2246467864107188502e-16,
                       kD = 1.2736634327021899816e-24;
      UOp d = qdh * Const(-kA) + x;
      d = q * Const(-kA) + d;
      d = qdh * Const(-kB) + d;
      d = q * Const(-kB) + d;
      d = qdh * Const(-kC) + d;
      d = q * Const(-kC) + d;
      return (qdh + q) * Const(-kD) + d;
    }
    case Scalar::Float16:  // float16 has too few bits, so compute in float32
      return subtract_pi(x.cast(dtypes::float32), q.cast(dtypes::float32), {}).cast(dtypes::float16);
    default: {
      UOp d = q * Const(-3.1414794921875) + x;
      d = q * Const(-0.00011315941810607910156) + d;
      d = q * Const(-1.9841872589410058936e-09) + d;
      return q * Const(-1.2154201256553420762e-10) + d;
    }
  }
}

ReducedAngle reduce_cody_waite(UOp d) {
  constexpr double kOneOverPi = 0.318309886183790671537767526745028724, kTwo24 = 1 << 24;
  UOp quotient = d * Const(kOneOverPi), qdh;
  if (d.dtype().is(Scalar::Float64)) {
    qdh = (d * Const(kOneOverPi / kTwo24)).cast(dtypes::int64).cast(d.dtype()) * Const(kTwo24);
    quotient = quotient - qdh;
  }
  UOp q = round_to_int(quotient);
  return {subtract_pi(d, q.cast(d.dtype()), qdh), q.cast(dtypes::int32)};
}

// ---- coefficients of polynomials in x**2 that approximate sin(x) / x on [-pi/2, pi/2], highest power first

constexpr double kSin[] = {2.6083159809786593541503e-06, -0.0001981069071916863322258, 0.00833307858556509017944336,
                           -0.166666597127914428710938, 1.0};
constexpr double kSinDouble[] = {-7.97255955009037868891952e-18, 2.81009972710863200091251e-15,
                                 -7.64712219118158833288484e-13, 1.60590430605664501629054e-10,
                                 -2.50521083763502045810755e-08, 2.75573192239198747630416e-06,
                                 -0.000198412698412696162806809, 0.00833333333333332974823815,
                                 -0.166666666666666657414808,    1.0};

UOp sin_polynomial(UOp d) {
  UOp square = d * d;
  return d * (d.dtype().is(Scalar::Float64) ? polynomial(square, kSinDouble) : polynomial(square, kSin));
}

UOp test_bit(UOp q, int bit) { return (q & Const(bit)).ne(0); }
UOp minus_one_if(UOp cond, UOp like) { return cond.where(like.const_like(-1), like.const_like(1)); }

UOp sin_of_half_turns(ReducedAngle x) {
  UOp r = sin_polynomial(x.remainder);
  return r * minus_one_if(test_bit(x.quotient, 1), r);
}

UOp sin_of_quadrants(ReducedAngle x) {
  UOp d = x.remainder;
  UOp r = sin_polynomial(d + test_bit(x.quotient, 1).where(d.const_like(kPi / 2), d.const_like(0)));
  return r * minus_one_if(test_bit(x.quotient, 2), r);
}

}  // namespace

UOp xsin(UOp d) {
  constexpr double kSwitchOver = 30.0, kNan = std::numeric_limits<double>::quiet_NaN();
  float_layout_of(d.dtype());
  UOp zero = d.const_like(0.0), nan = d.const_like(kNan);
  UOp x = map_non_finite(d, zero, zero, zero, d);
  UOp sign = x.ne(0).where(x.lt(0).where(x.const_like(-1), x.const_like(1)), x.const_like(0));
  UOp magnitude = x * sign;
  UOp result =
      magnitude.lt(kSwitchOver)
          .where(sin_of_half_turns(reduce_cody_waite(magnitude)), sin_of_quadrants(reduce_payne_hanek(magnitude)));
  return map_non_finite(d, nan, nan, nan, result * sign);
}

FloatLayout float_layout_of(DType d) {
  switch (d.is_value() ? d.scalar_kind() : Scalar::Void) {
    case Scalar::Float16: return {10, 15, 31, dtypes::int16, dtypes::uint16};
    case Scalar::Float32: return {23, 127, 255, dtypes::int32, dtypes::uint32};
    case Scalar::Float64: return {52, 1023, 2047, dtypes::int64, dtypes::uint64};
    default: throw Failure("no expansion of a transcendental function for " + std::string(d.repr()));
  }
}

UOp shift_left_by(UOp x, int bits) { return x * Const(Int::pow2(uint32_t(bits))); }
UOp shift_right_by(UOp x, int bits) { return x / Const(Int::pow2(uint32_t(bits))); }

UOp round_to_int(UOp d) {
  DType out = float_layout_of(d.dtype()).int_dtype.vec(d.dtype().vcount());
  return (d + d.lt(0.0).where(d.const_like(-0.5), d.const_like(0.5))).cast(out);
}

UOp pow2_of_int(UOp q, DType half_dtype) {
  DType out = q.dtype().is(Scalar::Int64)   ? dtypes::float64
              : q.dtype().is(Scalar::Int32) ? dtypes::float32
                                            : half_dtype.scalar();
  FloatLayout layout = float_layout_of(out);
  return shift_left_by(q + Const(layout.exponent_bias), layout.mantissa_bits).bitcast(out.vec(q.dtype().vcount()));
}

UOp exponent_of(UOp d) {
  FloatLayout layout = float_layout_of(d.dtype());
  UOp bits = d.bitcast(layout.int_dtype.vec(d.dtype().vcount()));
  return (shift_right_by(bits, layout.mantissa_bits) & Const(layout.exponent_mask)) - Const(layout.exponent_bias);
}

UOp scale_by_bits(UOp d, UOp e) {
  FloatLayout layout = float_layout_of(d.dtype());
  DType bits = layout.int_dtype.vec(d.dtype().count());
  return (d.bitcast(bits) + shift_left_by(e.cast(bits), layout.mantissa_bits)).bitcast(d.dtype()).cast(d.dtype());
}

UOp scale_by_powers(UOp d, UOp e) {
  UOp half = shift_right_by(e, 1);
  return (d * pow2_of_int(half, d.dtype())) * pow2_of_int(e - half, d.dtype());
}

std::pair<UOp, UOp> mantissa_and_exponent(UOp v) {
  FloatLayout layout = float_layout_of(v.dtype());
  // keep: the mask of the sign and mantissa bits (for float64 only the mantissa bits); half: the exponent bits of 0.5
  auto [keep, half] = v.dtype().is(Scalar::Float64)
                          ? std::pair<int64_t, int64_t>(0x000FFFFFFFFFFFFF, 0x3FE0000000000000)
                      : v.dtype().is(Scalar::Float32) ? std::pair<int64_t, int64_t>(0x807FFFFF, 0x3F000000)
                                                      : std::pair<int64_t, int64_t>(0x83FF, 0x3800);
  UOp bits = v.bitcast(layout.uint_dtype.vec(v.dtype().count()));
  UOp exponent = shift_right_by(bits, layout.mantissa_bits) & Const(layout.exponent_mask);
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
