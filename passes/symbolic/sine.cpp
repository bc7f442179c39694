// Expands sin: reduces the argument modulo pi or pi/2, then evaluates a polynomial (tinygrad uop/decompositions.py:
// payne_hanek_reduction, cody_waite_reduction, xsin).
#include <limits>
#include <numbers>

#include "lib/uop/graph.h"
#include "passes/symbolic/float_bits.h"
#include "passes/symbolic/transcendental.h"

namespace tgc {
namespace {

constexpr double kPi = std::numbers::pi;

// A reduced argument: the remainder modulo pi (Cody-Waite) or pi/2 (Payne-Hanek) and the int32 quotient.
struct Reduced {
  UOp rest, quotient;
};

// ---- Payne-Hanek, for large arguments: multiplies by those bits of 2/pi that affect the result modulo 2 * pi

constexpr int64_t kTwoOverPi[] = {0x00000000, 0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410};
constexpr int kNumTwoOverPi = std::size(kTwoOverPi);

// Selects kTwoOverPi[i + offset] by comparing i with 0, 1, ...
UOp two_over_pi(UOp zero, UOp i, int offset) {
  UOp value = zero;
  for (int k = kNumTwoOverPi - 2 - offset; k >= 0; k--)
    value = i.ne(k).where(value, zero.const_like(kTwoOverPi[k + offset]));
  return value;
}

Reduced payne_hanek(UOp d) {
  DType wide = d.dtype().is(Scalar::Float16) ? dtypes::float32.vec(d.dtype().count()) : d.dtype();
  auto [f, exponent] = mantissa_and_exponent(d);
  UOp ia = (f.cast(wide) * Const(4.294967296e9)).cast(dtypes::uint64);
  UOp i = shr_by(exponent.cast(dtypes::uint64), 5);
  UOp e = exponent.cast(dtypes::int32) & Const(31);
  UOp rest = Const(32) - e;

  auto power = [&](UOp y) { return pow2_of_int(y, d.dtype()).cast(dtypes::uint64); };
  auto shifted_up = [&](UOp x, UOp y) { return (x.cast(dtypes::uint64) * power(y)).cast(dtypes::uint32); };
  auto shifted_down = [&](UOp x, UOp y) { return (x.cast(dtypes::uint64) / power(y)).cast(dtypes::uint32); };
  UOp a[4], zero = d.graph().constant(dtypes::uint32.vec(d.dtype().count()), 0);
  for (int k = 0; k < 4; k++) a[k] = two_over_pi(zero, i, k);
  UOp hi = shifted_up(a[0], e) | shifted_down(a[1], rest);
  UOp mi = shifted_up(a[1], e) | shifted_down(a[2], rest);
  UOp lo = shifted_up(a[2], e) | shifted_down(a[3], rest);

  auto product = [](UOp x, UOp y) { return x.cast(dtypes::uint64) * y.cast(dtypes::uint64); };
  UOp p = shl_by(product(ia, hi), 32) + product(ia, mi) + shr_by(product(ia, lo), 32);
  UOp q = shr_by(p, 62).cast(dtypes::int32);
  UOp fraction = p & Const(int64_t(0x3fffffffffffffff));
  UOp r = (fraction.cast(wide) * Const(3.4061215800865545e-19)).cast(d.dtype());
  // if the mantissa f is at least 0.5, subtract pi/2 from the remainder and add 1 to the quotient, as tinygrad does
  UOp below_half = f.lt(0.5);
  return {below_half.where(r, r - Const(kPi / 2)), below_half.where(q, q + Const(1))};
}

// ---- Cody-Waite, exact enough below 39800: subtracts q * pi in parts with so few bits that each product is exact

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

Reduced cody_waite(UOp d) {
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

UOp has_bit(UOp q, int bit) { return (q & Const(bit)).ne(0); }
UOp minus_one_if(UOp cond, UOp like) { return cond.where(like.const_like(-1), like.const_like(1)); }

UOp sin_of_half_turns(Reduced x) {
  UOp r = sin_polynomial(x.rest);
  return r * minus_one_if(has_bit(x.quotient, 1), r);
}

UOp sin_of_quadrants(Reduced x) {
  UOp d = x.rest;
  UOp r = sin_polynomial(d + has_bit(x.quotient, 1).where(d.const_like(kPi / 2), d.const_like(0)));
  return r * minus_one_if(has_bit(x.quotient, 2), r);
}

}  // namespace

UOp xsin(UOp d) {
  constexpr double kSwitchOver = 30.0, kNan = std::numeric_limits<double>::quiet_NaN();
  layout_of(d.dtype());
  UOp zero = d.const_like(0.0), nan = d.const_like(kNan);
  UOp x = map_non_finite(d, zero, zero, zero, d);
  UOp sign = x.ne(0).where(x.lt(0).where(x.const_like(-1), x.const_like(1)), x.const_like(0));
  UOp magnitude = x * sign;
  UOp result = magnitude.lt(kSwitchOver)
                   .where(sin_of_half_turns(cody_waite(magnitude)), sin_of_quadrants(payne_hanek(magnitude)));
  return map_non_finite(d, nan, nan, nan, result * sign);
}

}  // namespace tgc
