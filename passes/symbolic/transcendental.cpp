#include "passes/symbolic/transcendental.h"

#include <limits>

#include "passes/symbolic/float_bits.h"

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

// Returns (upper, lower): exp2(x) is infinite for x >= upper and 0 for x < lower.
std::pair<int, int> exp2_limits(DType d) {
  if (d.is(Scalar::Float64)) return {1024, -2000};
  return d.is(Scalar::Float32) ? std::pair(128, -150) : std::pair(23, -22);
}

}  // namespace

UOp xexp2(UOp d) {
  layout_of(d.dtype());
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
  layout_of(d.dtype());
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
  // log2(-0.0) is -infinity; some targets evaluate -0.0 != 0.0 to true, so test 1 / d instead
  return d.reciprocal().ne(-kInf).where(r, r.const_like(-kInf));
}

UOp xpow(UOp base, UOp exponent) {
  // compute |base| ** exponent as exp2(exponent * log2(|base|))
  UOp power = (base.lt(0).where(-base, base).log2() * exponent).exp2();
  // for a negative base, the result is NaN if the exponent is not an integer, and negative if the exponent is odd
  UOp fraction = exponent.ne(exponent.cast(dtypes::int32).cast(exponent.dtype()));
  UOp odd = (exponent.lt(0).where(-exponent, exponent).cast(dtypes::int32) % Const(2)).cast(dtypes::bool_);
  UOp sign = fraction.where(power.const_like(kNan), odd.where(power.const_like(-1), power.const_like(1)));
  // 0 ** 0 is 1
  return (base.eq(0) & exponent.eq(0)).where(power.const_like(1), power * base.lt(0).where(sign, power.const_like(1)));
}

}  // namespace tgc
