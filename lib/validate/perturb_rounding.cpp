#include "lib/validate/perturb_rounding.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "lib/uop/graph.h"

namespace tgc {
double dtype_epsilon(DType dtype) {
  switch (dtype.scalar_kind()) {
    case Scalar::Float64: return 0x1p-52;
    case Scalar::Float32: return 0x1p-23;
    case Scalar::Float16: return 0x1p-10;
    case Scalar::BFloat16: return 0x1p-7;
    case Scalar::FP8E4M3: return 0x1p-3;
    case Scalar::FP8E5M2: return 0x1p-2;
    default: return 0;
  }
}

namespace {

// Returns the smallest normal float of a small dtype, below which floats are equally spaced; 0 for dtypes whose
// denormals are so small that the spacing does not matter.
double least_normal(DType dtype) {
  switch (dtype.scalar_kind()) {
    case Scalar::Float16:
    case Scalar::FP8E5M2: return 0x1p-14;
    case Scalar::FP8E4M3: return 0x1p-6;
    default: return 0;
  }
}

UOp magnitude(UOp x) { return x.maximum(x.neg()); }

constexpr double kNearEqualBits = 16;
constexpr OpSet kRoundingOps = {Op::ADD,        Op::SUB,  Op::MUL,  Op::FDIV, Op::MULACC, Op::POW,
                                Op::RECIPROCAL, Op::SQRT, Op::EXP2, Op::LOG2, Op::SIN};
constexpr OpSet kOverflowingOps = {Op::ADD, Op::SUB, Op::MUL};

class RoundingPerturber {
 public:
  RoundingPerturber(Graph& graph, int way)
      : perturbation_number_(way % kRoundingPerturbationOffset),
        perturbs_roundings_only_(way >= kRoundingPerturbationOffset), perturbed_nodes_(graph), inexact_nodes_(graph),
        computed_nodes_(graph) {}

  UOp perturb(UOp root) {
    size_t number = 0;
    for (UOp u : toposort(root)) {
      std::vector<UOp> src;
      for (UOp s : u.src()) src.push_back(*perturbed_nodes_.find(s));
      record_inexact(u);
      record_computed(u);
      UOp made = perturb_node(u, src, number++);
      perturbed_nodes_[u] = made;
    }
    return *perturbed_nodes_.find(root);
  }

 private:
  // Adds `u` to inexact_nodes_ if its value depends on rounding.
  void record_inexact(UOp u) {
    bool is_float = u.dtype().is_value() && dtypes::is_float(u.dtype());
    bool inexact = is_float && (rounds(u) || (u.is(Op::REDUCE) && u.arg().op() == Op::ADD));
    bool passes_on = u.dtype().is_value() && !u.in({Op::LOAD, Op::INDEX});
    for (size_t i = 0; !inexact && passes_on && i < u.num_src(); i++) inexact = inexact_nodes_.contains(u.src(i));
    if (inexact) inexact_nodes_.insert(u);
  }
  // The bits of a NaN are undefined only for a float that arithmetic may have computed: computed_nodes_ has these.
  void record_computed(UOp u) {
    auto is_float = [](UOp x) { return x.dtype().is_value() && dtypes::is_float(x.dtype()); };
    if (!is_float(u) || u.in({Op::LOAD, Op::INDEX})) return;
    bool computed = !u.is(Op::WHERE) && u.in(ops::ALU | OpSet{Op::CAST, Op::REDUCE, Op::WMMA});
    if (computed || std::ranges::any_of(u.src(), [&](UOp s) { return is_float(s) && computed_nodes_.contains(s); }))
      computed_nodes_.insert(u);
  }
  static bool rounds(UOp u) {
    if (u.is(Op::MUL)) return !is_power_of_two(u.src(0)) && !is_power_of_two(u.src(1));
    return u.in(kRoundingOps) || (u.is(Op::CAST) && is_narrowing(u));
  }
  static bool is_power_of_two(UOp u) {
    int exponent;
    return u.is_const() && std::fabs(std::frexp(u.arg().to_const().to_double(), &exponent)) == 0.5;
  }
  static bool is_narrowing(UOp cast) {
    return dtypes::is_float(cast.src(0).dtype()) && dtype_epsilon(cast.dtype()) > dtype_epsilon(cast.src(0).dtype());
  }

  bool has_noise() const { return perturbation_number_ > 0; }
  bool flips_comparisons() const { return perturbation_number_ < kNumPerturbations / 2; }
  bool rounds_up(size_t number) const {
    return ((number + 1) * 0x9E3779B97F4A7C15 >> (50 + 3 * perturbation_number_)) & 1;
  }
  UOp scale_by_epsilons(UOp x, bool more, double bits) const {
    double e = (more ? bits : -bits) * dtype_epsilon(x.dtype()), least = least_normal(x.dtype());
    if (!e) return x;
    UOp off = x * x.const_like(1 + e);
    if (!least) return off;
    return (magnitude(x).lt(x.const_like(least)) & x.ne(x.const_like(0.0))).where(x + x.const_like(e * least), off);
  }
  // Returns an integer to use in place of `number`: a small one or, in two of the ways, the dtype's largest or
  // smallest. Returns `number` if only roundings are perturbed.
  UOp replacement_integer(UOp number) const {
    if (perturbs_roundings_only_) return number;
    UOp small = number.const_like(Const(int64_t(37 + 24 * perturbation_number_)));
    if (perturbation_number_ != 1 && perturbation_number_ != 2) return small;
    DType d = number.dtype().scalar();
    UOp end = number.const_like(perturbation_number_ == 1 ? dtypes::max(d) : dtypes::min(d));
    return number.ne(end).where(end, small);
  }

  UOp perturb_node(UOp u, const std::vector<UOp>& src, size_t number) const {
    const Const zero = int64_t(0);
    UOp same = u.with_src(src);
    if (perturbation_number_ == kWideSumsPerturbation) return make_wide_sum(u, src).value_or(same);
    if (!u.dtype().is_value() || u.dtype().is(Scalar::Index)) return same;
    if (u.is(Op::CAST) && dtypes::is_float(u.src(0).dtype()) && dtypes::is_int(u.dtype()))
      return perturb_integer_cast(u, src[0]);
    if (u.in(ops::Comparison) && dtypes::is_float(u.src(0).dtype())) return perturb_comparison(u, same, src);
    if (dtypes::is_float(u.dtype())) return perturb_float(u, same, src, number);
    if (u.is(Op::BITCAST) && computed_nodes_.contains(u.src(0)))
      return src[0].ne(src[0]).where(replacement_integer(same), same);
    if (u.is(Op::POW)) return (src[0].ne(zero) | src[1].ge(zero)).where(same, replacement_integer(same));
    if (u.in({Op::IDIV, Op::MOD})) return src[1].ne(zero).where(same, replacement_integer(same));
    if (u.in({Op::SHL, Op::SHR})) {
      UOp fits = u.is(Op::SHL) ? perturb_integer(u, same, src) : same;
      return src[1].lt(Const(int64_t(u.dtype().scalar().bitsize()))).where(fits, replacement_integer(same));
    }
    return u.in(kOverflowingOps) ? perturb_integer(u, same, src) : same;
  }

  UOp perturb_float(UOp u, UOp same, const std::vector<UOp>& src, size_t number) const {
    if (u.is(Op::MAX))
      return perturbation_number_ % 2 ? src[0].lt(src[1]).where(src[1], src[0])
                                      : src[1].lt(src[0]).where(src[0], src[1]);
    if (u.is(Op::REDUCE)) return perturb_reduction(u, src);
    if (u.is(Op::TRUNC)) return u.with_src({perturb_jump_operand(u.src(0), src[0])});
    return has_noise() && rounds(u) ? scale_by_epsilons(same, rounds_up(number), 1) : same;
  }

  static std::optional<UOp> make_wide_sum(UOp u, std::vector<UOp> src) {
    const DType d = u.dtype(), wide = dtypes::float64.vec(d.count());
    if (!u.is(Op::REDUCE) || u.arg().op() != Op::ADD || !dtypes::is_float(d)) return std::nullopt;
    src[0] = src[0].cast(wide);
    return u.replace({.dtype = wide, .src = src}).cast(d);
  }

  // Perturbs a reduction. Except in way 0, makes every second element of a sum of floats larger, the others smaller.
  UOp perturb_reduction(UOp u, std::vector<UOp> src) const {
    if (u.arg().op() == Op::MAX) return perturb_maximum(u, std::move(src));
    if (has_noise() && u.arg().op() == Op::ADD && src.size() > 1 && dtype_epsilon(u.dtype())) {
      UOp odd = (src[1] % Const(int64_t(2))).ne(Const(int64_t(0)));
      if (u.dtype().count() > 1) odd = odd.broadcast(u.dtype().count());
      src[0] = odd.where(scale_by_epsilons(src[0], perturbation_number_ % 2, 1),
                         scale_by_epsilons(src[0], !(perturbation_number_ % 2), 1));
    }
    return u.with_src(src);
  }

  // NaNs count as -inf or +inf and, in half of the ways, a NaN makes the result NaN.
  UOp perturb_maximum(UOp u, const std::vector<UOp>& src) const {
    const UOp x = src[0], is_nan = x.ne(x);
    auto reduced = [&](UOp value, Op op) {
      std::vector<UOp> all = src;
      all[0] = value;
      return u.with_src(all).with_arg(op);
    };
    const double instead = perturbation_number_ % 2 ? -INFINITY : INFINITY;
    const UOp most = reduced(is_nan.where(x.const_like(instead), x), Op::MAX);
    if (perturbation_number_ < kNumPerturbations / 2) return most;
    const UOp nans = reduced(is_nan.where(x, x.const_like(0.0)), Op::ADD);
    return nans.ne(nans).where(nans, most);
  }

  // If flips_comparisons() is true, negates a comparison whose operands differ by at most a few bits, unless both are
  // exact.
  UOp perturb_comparison(UOp u, UOp same, const std::vector<UOp>& src) const {
    if (!flips_comparisons() || !(inexact_nodes_.contains(u.src(0)) || inexact_nodes_.contains(u.src(1)))) return same;
    UOp size_of_both = magnitude(src[0]).maximum(magnitude(src[1]));
    UOp apart = (size_of_both * size_of_both.const_like(kNearEqualBits * dtype_epsilon(src[0].dtype())))
                    .lt(magnitude(src[0] + src[1].neg()));
    return same.ne(apart.logical_not());
  }

  // `made` is the perturbed operand `x` of an op whose result jumps at integers. Returns `made`, changed by a few more
  // bits if `x` is inexact.
  UOp perturb_jump_operand(UOp x, UOp made) const {
    return inexact_nodes_.contains(x) ? scale_by_epsilons(made, perturbation_number_ % 2, kNearEqualBits / 2) : made;
  }
  UOp perturb_integer_cast(UOp u, UOp x) const {
    x = perturb_jump_operand(u.src(0), x);
    UOp same = u.with_src({x});
    int bits = u.dtype().scalar().bitsize() - !dtypes::is_unsigned(u.dtype());
    // a small float dtype cannot represent the limits of the integer, so compare in float32
    UOp wide = x.dtype().scalar().itemsize() < 4 ? x.cast(dtypes::float32.vec(x.dtype().count())) : x;
    UOp above = dtypes::is_unsigned(u.dtype()) ? wide.gt(Const(-1.0)) : wide.ge(Const(-std::ldexp(1.0, bits)));
    return (above & wide.lt(Const(std::ldexp(1.0, bits)))).where(same, replacement_integer(same));
  }

  UOp perturb_integer(UOp u, UOp same, const std::vector<UOp>& src) const {
    if (dtypes::is_unsigned(u.dtype()) || dtypes::is_bool(u.dtype()) || u.dtype().scalar().itemsize() > 4) return same;
    DType wide = u.dtype().count() > 1 ? dtypes::int64.vec(u.dtype().count()) : dtypes::int64;
    UOp exact = src[0].cast(wide).alu(u.op(), src[1].cast(wide));
    return exact.eq(same.cast(wide)).where(same, replacement_integer(same));
  }

  int perturbation_number_;
  bool perturbs_roundings_only_;
  UOpMap<UOp> perturbed_nodes_;
  UOpSet inexact_nodes_;
  UOpSet computed_nodes_;
};

}  // namespace

UOp perturb_rounding(UOp root, int way) { return RoundingPerturber(root.graph(), way).perturb(root); }

}  // namespace tgc
