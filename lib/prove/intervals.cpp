// Functions of IntervalAnalysis, and name_of(FloatSense).
#include <algorithm>
#include <cmath>

#include "lib/prove/encode.h"
#include "lib/uop/graph.h"

namespace tgc {
namespace {

Interval dtype_interval(DType d) {
  if (d.is(Scalar::Index)) return {};
  if (dtypes::is_bool(d)) return {Int(0), Int(1)};
  if (!dtypes::is_int(d)) return {};
  return {dtypes::min(d.scalar()).to_int(), dtypes::max(d.scalar()).to_int()};
}

bool is_bounded(const Interval& a) { return a.lower_bound && a.upper_bound; }

Interval interval_hull(std::initializer_list<Int> values) { return {std::min(values), std::max(values)}; }

// `exact` is the interval of the value before it wraps around in the dtype `d`.
Interval wrapped_interval(const Interval& exact, DType d) {
  Interval all = dtype_interval(d);
  if (!is_bounded(all)) return exact;
  return is_bounded(exact) && *exact.lower_bound >= *all.lower_bound && *exact.upper_bound <= *all.upper_bound ? exact
                                                                                                               : all;
}

Interval quotient_interval(const Interval& a, const Interval& b) {
  if (!is_bounded(a)) return {};
  Int most = std::max(a.lower_bound->abs(), a.upper_bound->abs());
  if (is_bounded(b) && (*b.lower_bound > 0 || *b.upper_bound < 0))
    return interval_hull({cdiv(*a.lower_bound, *b.lower_bound), cdiv(*a.lower_bound, *b.upper_bound),
                          cdiv(*a.upper_bound, *b.lower_bound), cdiv(*a.upper_bound, *b.upper_bound)});
  return {-most, most};
}

Interval remainder_interval(const Interval& a, const Interval& b) {
  Interval out;
  if (a.lower_bound) out.lower_bound = std::min(*a.lower_bound, Int(0));
  if (a.upper_bound) out.upper_bound = std::max(*a.upper_bound, Int(0));
  if (is_bounded(b) && (*b.lower_bound > 0 || *b.upper_bound < 0)) {
    Int most = std::max(b.lower_bound->abs(), b.upper_bound->abs()) - 1;
    out.lower_bound = out.lower_bound ? std::max(*out.lower_bound, -most) : -most;
    out.upper_bound = out.upper_bound ? std::min(*out.upper_bound, most) : most;
  }
  return out;
}

Interval masked_interval(Op op, const Interval& a, const Interval& b) {
  auto is_natural = [](const Interval& i) { return i.lower_bound && *i.lower_bound >= 0; };
  if (op == Op::AND) {
    if (is_natural(a) && is_natural(b) && a.upper_bound && b.upper_bound)
      return {Int(0), std::min(*a.upper_bound, *b.upper_bound)};
    if (is_natural(a) && a.upper_bound) return {Int(0), a.upper_bound};
    if (is_natural(b) && b.upper_bound) return {Int(0), b.upper_bound};
  }
  if (!is_bounded(a) || !is_bounded(b)) return {};
  if (!is_natural(a) || !is_natural(b)) {
    Int all = Int::pow2(std::max({a.lower_bound->bit_length(), a.upper_bound->bit_length(), b.lower_bound->bit_length(),
                                  b.upper_bound->bit_length()}));
    return {-all, all - 1};
  }
  return {Int(0), Int::pow2(std::max(a.upper_bound->bit_length(), b.upper_bound->bit_length())) - 1};
}

}  // namespace

const ExprLeaf* IntervalAnalysis::leaf_of_load(UOp load, int64_t* element) const {
  UOp index = load.src(0);
  if (!index.is(Op::INDEX) || !index.src(0).is(Op::DEFINE_GLOBAL) || !index.src(0).arg().is_int()) return nullptr;
  int64_t number = index.src(0).arg().small_int();
  if (number != ExprIsolator::kLeafArrayNumber && number != ExprIsolator::kLeafArrayNumber + 1) return nullptr;
  int64_t slot = index.src(1).src(1).arg().small_int() / ExprIsolator::kPointsPerRun;
  for (const ExprLeaf& leaf : isolator_.leaf_list()) {
    if (leaf.first_slot < 0 || slot < leaf.first_slot || slot >= leaf.first_slot + leaf.node.dtype().count()) continue;
    if (element) *element = slot - leaf.first_slot;
    return &leaf;
  }
  return nullptr;
}

Interval IntervalAnalysis::interval_of(UOp root, int root_lane) {
  auto for_sources = [](UOp u, int lane, auto&& need) {
    if (!u.in(ops::ALU | OpSet{Op::CAST})) return;
    for (UOp s : u.src())
      if (dtypes::is_int(s.dtype())) need(s, s.dtype().count() > 1 ? lane : 0);
  };
  return known_intervals_.lane_value(root, root_lane, for_sources,
                                     [&](UOp u, int lane) { return make_interval(u, lane); });
}

Interval IntervalAnalysis::make_interval(UOp u, int lane) {
  DType d = u.dtype();
  Interval all = dtype_interval(d);
  if (!dtypes::is_int(d)) return all;
  auto src = [&](size_t i) {
    UOp s = u.src(i);
    return interval_of(s, s.dtype().count() > 1 ? lane : 0);
  };
  switch (u.op()) {
    case Op::CONST:
    case Op::VCONST: {
      Const c = u.arg().is_tuple() ? u.arg()[size_t(lane)].to_const() : u.arg().to_const();
      if (c.is_invalid()) return {Int(0), Int(0)};
      Int v = truncate(c, d.scalar()).to_int();
      return {v, v};
    }
    case Op::LOAD:
      if (const ExprLeaf* leaf = leaf_of_load(u)) {
        if (dtypes::is_float(leaf->node.dtype())) return {};
        Interval of_leaf = dtype_interval(leaf->node.dtype());
        if (!leaf->node.in({Op::RANGE, Op::SPECIAL, Op::DEFINE_VAR})) return of_leaf;
        const Bounds& b = leaf->node.bounds();
        return {b.min.to_int(), std::max(b.min.to_int(), b.max.to_int())};
      }
      return all;
    case Op::RANGE: {
      const Bounds& b = u.bounds();
      return {b.min.to_int(), std::max(b.min.to_int(), b.max.to_int())};
    }
    case Op::GEP: return u.arg().is_tuple() ? interval_of(u.src(0), int(u.arg()[size_t(lane)].small_int())) : all;
    case Op::VECTORIZE: return interval_of(u.src(size_t(lane)), 0);
    case Op::ADD:
    case Op::SUB:
    case Op::MUL: {
      Interval a = src(0), b = src(1);
      if (!is_bounded(a) || !is_bounded(b)) return all;
      if (u.is(Op::ADD)) return wrapped_interval({*a.lower_bound + *b.lower_bound, *a.upper_bound + *b.upper_bound}, d);
      if (u.is(Op::SUB)) return wrapped_interval({*a.lower_bound - *b.upper_bound, *a.upper_bound - *b.lower_bound}, d);
      return wrapped_interval(interval_hull({*a.lower_bound * *b.lower_bound, *a.lower_bound * *b.upper_bound,
                                             *a.upper_bound * *b.lower_bound, *a.upper_bound * *b.upper_bound}),
                              d);
    }
    case Op::NEG: {
      Interval a = src(0);
      return is_bounded(a) ? wrapped_interval({-*a.upper_bound, -*a.lower_bound}, d) : all;
    }
    case Op::MAX: {
      Interval a = src(0), b = src(1), out;
      if (a.lower_bound || b.lower_bound)
        out.lower_bound = !a.lower_bound   ? b.lower_bound
                          : !b.lower_bound ? a.lower_bound
                                           : std::max(a.lower_bound, b.lower_bound);
      if (a.upper_bound && b.upper_bound) out.upper_bound = std::max(a.upper_bound, b.upper_bound);
      return out;
    }
    case Op::IDIV: return wrapped_interval(quotient_interval(src(0), src(1)), d);
    case Op::MOD: return wrapped_interval(remainder_interval(src(0), src(1)), d);
    case Op::AND:
    case Op::OR:
    case Op::XOR: {
      Interval out = masked_interval(u.op(), src(0), src(1));
      return is_bounded(out) ? wrapped_interval(out, d) : all;
    }
    case Op::SHL:
    case Op::SHR: {
      Interval a = src(0), b = src(1);
      if (!is_bounded(a) || !is_bounded(b) || *b.lower_bound < 0 || *b.upper_bound > 63) return all;
      auto by0 = uint32_t(b.lower_bound->small_value()), by1 = uint32_t(b.upper_bound->small_value());
      if (u.is(Op::SHR))
        return wrapped_interval(
            interval_hull({*a.lower_bound >> by0, *a.lower_bound >> by1, *a.upper_bound >> by0, *a.upper_bound >> by1}),
            d);
      return wrapped_interval(
          interval_hull({*a.lower_bound << by0, *a.lower_bound << by1, *a.upper_bound << by0, *a.upper_bound << by1}),
          d);
    }
    case Op::WHERE: {
      Interval a = src(1), b = src(2), out;
      if (a.lower_bound && b.lower_bound) out.lower_bound = std::min(a.lower_bound, b.lower_bound);
      if (a.upper_bound && b.upper_bound) out.upper_bound = std::max(a.upper_bound, b.upper_bound);
      return out;
    }
    case Op::CAST:
      if (dtypes::is_bool(u.src(0).dtype())) return {Int(0), Int(1)};
      return dtypes::is_int(u.src(0).dtype()) ? wrapped_interval(src(0), d) : all;
    default: return all;
  }
}

int64_t IntervalAnalysis::num_indexed_elements(UOp index) const {
  for (const IsolatedMemory& m : isolator_.memories()) {
    if (m.define != index.src(0)) continue;
    const DType d = m.source_node.dtype();
    return d.is_image() || d.size() < 0 ? -1 : d.size() * d.base().count();
  }
  return -1;
}

bool IntervalAnalysis::is_finite_value(UOp u) {
  auto [it, is_new] = known_finiteness_.try_emplace(u.id(), true);
  if (!is_new) return it->second;
  auto is_infinite = [&](UOp x) {
    if (x.is_const() && dtypes::is_float(x.dtype()) && !x.is_invalid()) {
      auto is_beyond = [](Const c) { return c.is_float() && !std::isfinite(c.as_float()); };
      if (!x.arg().is_tuple()) return is_beyond(x.arg().to_const());
      return std::ranges::any_of(x.arg().items(), [&](Arg a) { return is_beyond(a.to_const()); });
    }
    const bool is_of_stores = x.is(Op::DEFINE_GLOBAL) && x.arg().is_int() &&
                              x.arg().small_int() >= ExprIsolator::kLeafArrayNumber + 2;
    return has_infinities_ && (is_of_stores || x.in({Op::DEFINE_LOCAL, Op::DEFINE_REG}));
  };
  const bool out = std::ranges::none_of(toposort(u), is_infinite);
  return known_finiteness_[u.id()] = out;
}

std::string_view name_of(FloatSense sense) {
  switch (sense) {
    case FloatSense::Uninterpreted: return "bit-exact";
    case FloatSense::Exact:
    case FloatSense::ButNan: return "but-nan";
    case FloatSense::Finite: return "finite";
    case FloatSense::Rounding: return "rounding";
    case FloatSense::Real: return "reals";
  }
  return "";
}

}  // namespace tgc
