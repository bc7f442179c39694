// Integer division by constants as multiplication and shift (tinygrad uop/decompositions.py: magicgu, fast_idiv).
#include "lib/uop/graph.h"
#include "passes/kernel/decompositions.h"

namespace tgc {
namespace {

Int py_abs_max(Const vmin, Const vmax) {
  Int least = vmin.to_int().abs(), greatest = vmax.to_int();
  return greatest < least ? least : greatest;
}

struct Range {
  Int min, max;
};

// Returns the bounds of `u`, limited to the values of its dtype.
Range range_of(UOp u) {
  return {py_max(u.vmin(), dtypes::min(u.dtype())).to_int(), py_min(u.vmax(), dtypes::max(u.dtype())).to_int()};
}

bool fits(Range r, Int factor, DType dtype) {
  return factor * r.min >= dtypes::min(dtype).to_int() && factor * r.max <= dtypes::max(dtype).to_int();
}

}  // namespace

std::pair<Int, int> magicgu(Int vmax, Int d) {
  if (vmax < 0 || vmax.bit_length() > 64 || d <= 0 || d.bit_length() > 64)
    throw Failure("cannot divide values up to " + vmax.str() + " by " + d.str() + " with a multiplier");
  using Wide = unsigned __int128;
  Wide divisor = d.low64(), nc_plus_1 = (Wide(vmax.low64()) + 1) / divisor * divisor;
  for (int s = 0; s <= 128; s++) {
    Wide ones = s < 128 ? (Wide(1) << s) - 1 : ~Wide(0);  // ones = 2**s - 1
    if (nc_plus_1 && ones < (nc_plus_1 - 1) * (divisor - 1 - ones % divisor)) continue;
    Wide m = ones / divisor + 1;
    return {(Int(uint64_t(m >> 64)) << 64) + Int(uint64_t(m)), s};
  }
  throw Failure("no multiplier divides by " + d.str());
}

Taken fast_idiv(const Target& target, UOp x, Int d, bool dont_cast) {
  if (d <= 0) throw Failure("the divisor must be positive, not " + d.str());
  DType dtype = x.dtype();
  bool never_negative = !py_less(x.vmin(), 0) || (dtype.count() == 1 && dtypes::is_unsigned(dtype));
  Range range = range_of(x);
  auto [m, s] = magicgu(py_abs_max(range.min, range.max), d);
  auto sign = [&] { return x.lt(0).where(x.const_like(1), 0); };  // add 1 if x < 0, because the shift rounds down

  if (fits(range, m, dtype)) {
    UOp quotient = (x * m) >> Const(s);
    return {never_negative ? quotient : quotient + sign(), "multiply"};
  }
  // first try to divide by the power of two in d, which makes x smaller, because a wider dtype would be slow
  if (Int factor = d & -d; factor > 1)
    if (UOp quotient = fast_idiv(target, x / Const(factor), floor_div(d, factor), true).node)
      return {quotient, "twos-first"};
  if (dont_cast) return {};
  auto wider = promotes_to(dtype.scalar());
  if (wider.empty() || !dtypes::is_int(wider.back()) || !is_dtype_supported(wider.back(), target) ||
      !fits(range, m, wider.back()))
    return {};
  UOp quotient = ((x.cast(wider.back()) * m) >> Const(s)).cast(dtype);
  return {never_negative ? quotient : quotient + sign(), "wider"};
}

}  // namespace tgc
