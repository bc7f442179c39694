#include "lib/prove/rule_sides.h"

#include <algorithm>

#include "lib/uop/graph.h"

namespace tgc {

bool has_node_where(UOp root, bool (*test)(UOp)) {
  return is_found_below(root, [](UOp) { return true; }, test);
}

bool has_node_where(const SidePairs& pairs, bool (*test)(UOp)) {
  auto has = [&](const RewriteSides& s) { return has_node_where(s.before, test) || has_node_where(s.after, test); };
  return std::ranges::any_of(pairs, has);
}

bool is_float_of_bits(UOp u) { return u.is(Op::BITCAST) && dtypes::is_float(u.dtype()); }

bool is_float_narrowing(UOp u) {
  return u.is(Op::CAST) && dtypes::is_float(u.dtype()) && dtypes::is_float(u.src(0).dtype()) &&
         u.dtype().itemsize() < u.src(0).dtype().itemsize();
}

bool is_cast_of_float(UOp u) {
  return u.is(Op::CAST) && dtypes::is_int(u.dtype()) && dtypes::is_float(u.src(0).dtype());
}

bool is_index_over_64_bits(UOp u) {
  auto fits = [](const Const& c) { return !c.is_int() || c.to_int().to_int64(); };
  return u.dtype().is(Scalar::Index) && !(fits(u.vmin()) && fits(u.vmax()));
}

bool is_invalid_constant(UOp u) { return u.is_const() && u.is_invalid(); }

SidePairs invalid_sides(const SidePairs& pairs) {
  SidePairs out;
  for (const RewriteSides& s : pairs) {
    const DType d = s.before.dtype();
    if (!d.is_value() || d.scalar().is(Scalar::Index) || !(d == s.after.dtype())) continue;
    if (!has_node_where(s.before, is_invalid_constant)) continue;
    auto zero_or_invalid = [&](UOp side) {
      const UOp is_less = side.graph().node(Op::CMPLT, dtypes::bool_.vec(d.count()), std::vector<UOp>{side, side});
      return is_less.cast(dtypes::index.vec(d.count()));
    };
    out.push_back({zero_or_invalid(s.before), zero_or_invalid(s.after)});
  }
  return out;
}

}  // namespace tgc
