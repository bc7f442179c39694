#include "passes/symbolic/transcendental.h"

#include <limits>

namespace tgc {

UOp xpow(UOp base, UOp exponent) {
  // b ** e = exp2(e * log2(|b|))
  UOp power = (base.lt(0).where(-base, base).log2() * exponent).exp2();
  // a negative base: nan for a fraction as exponent, the sign flips for an odd one
  UOp fraction = exponent.ne(exponent.cast(dtypes::int32).cast(exponent.dtype()));
  UOp odd = (exponent.lt(0).where(-exponent, exponent).cast(dtypes::int32) % Const(2)).cast(dtypes::bool_);
  UOp sign = fraction.where(power.const_like(std::numeric_limits<double>::quiet_NaN()), odd.where(power.const_like(-1), power.const_like(1)));
  // 0 ** 0 = 1
  return (base.eq(0) & exponent.eq(0)).where(power.const_like(1), power * base.lt(0).where(sign, power.const_like(1)));
}

}  // namespace tgc
