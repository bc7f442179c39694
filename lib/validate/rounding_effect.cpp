#include "lib/validate/rounding_effect.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/uop/graph.h"
#include "lib/validate/perturb_rounding.h"

namespace tgc {
namespace {

constexpr double kEffectMargin = 8;

bool is_float(UOp u) { return u.dtype().is_value() && u.dtype().count() == 1 && dtypes::is_float(u.dtype()); }

// Returns `exact` plus its magnitude times the machine epsilon of `dtype`.
UOp increase_by_epsilon(UOp exact, DType dtype) {
  UOp size = exact.maximum(exact.neg());
  return exact + size * Const(dtype_epsilon(dtype));
}

// Returns the graph with all arithmetic of scalar floats in float64. With `sums_grow`, also increases every term of
// each sum by the relative rounding error of its dtype.
UOp with_exact_floats(UOp root, bool sums_grow) {
  UOpMap<UOp> same(root.graph()), exact(root.graph());
  for (UOp u : toposort(root)) {
    bool computes = u.in(ops::ALU | OpSet{Op::CAST, Op::REDUCE}) && (is_float(u) || u.in(ops::Comparison));
    std::vector<UOp> src;
    for (UOp s : u.src()) src.push_back(computes && is_float(s) ? exact[s] : same[s]);
    if (computes && is_float(u)) {
      if (sums_grow && u.is(Op::REDUCE) && u.arg().op() == Op::ADD) src[0] = increase_by_epsilon(src[0], u.dtype());
      exact[u] = u.replace({.dtype = dtypes::float64, .src = src});
      same[u] = exact[u].cast(u.dtype());
      continue;
    }
    same[u] = u.with_src(src);
    if (is_float(u)) exact[u] = same[u].cast(dtypes::float64);
  }
  return same[root];
}

// Returns the largest finite number of a small float dtype; infinity for other dtypes.
double largest_finite(DType d) {
  return d == dtypes::fp8e4m3 ? 448 : d == dtypes::fp8e5m2 ? 57344 : d == dtypes::float16 ? 65504 : INFINITY;
}
// Returns true if the value is NaN, infinite, or the largest fp8 number, to which larger numbers are clamped.
bool is_overflow_value(double v, DType d) {
  return !std::isfinite(v) || (dtypes::fp8s.contains(d) && std::fabs(v) >= largest_finite(d));
}
// Returns true if each of the two values overflows the dtype (it is infinite, or NaN in fp8e4m3), or can overflow by
// rounding, which may change a value by `far`. Returns false for numbers of different signs.
bool may_both_overflow(double a, double b, double far, DType d) {
  const bool is_nan = std::isnan(a) || std::isnan(b);
  if (is_nan ? !(d == dtypes::fp8e4m3) : std::signbit(a) != std::signbit(b)) return false;
  return std::fmin(std::fabs(a), std::fabs(b)) + far >= largest_finite(d);
}

// Raises the effect on each element of an array to at least its change from `b` to `a`. With `is_exact`, the effects
// are also at least the root mean square of these changes.
void raise_effects(const Array& a, const Array& b, bool is_exact, std::vector<double>& effects) {
  double squares = 0;
  for (size_t k = 0; k < effects.size(); k++) {
    double far = std::fabs(element_as_double(a, int64_t(k)) - element_as_double(b, int64_t(k)));
    effects[k] = std::max(effects[k], far);
    if (std::isfinite(far)) squares += far * far;
  }
  if (is_exact)
    for (double& far : effects) far = std::max(far, std::sqrt(squares / double(effects.size())));
}

}  // namespace

bool RoundingEffect::are_differences_explained(const Arrays& actual, const Arrays& settled, UOp root) {
  if (effect_bounds_.empty()) effect_bounds_ = effects_in_ast_ = effects_of(ast_, expected_arrays_);
  if (are_explained(effect_bounds_, settled)) return true;
  if (!root) return false;
  Effects both = effects_of(root, actual);
  for (size_t i = 0; i < both.size(); i++)
    for (size_t k = 0; k < both[i].size(); k++) both[i][k] += effects_in_ast_[i][k];
  if (!are_explained(both, settled)) return false;
  effect_bounds_ = std::move(both);
  return true;
}

bool RoundingEffect::are_explained(const Effects& effects, const Arrays& actual) {
  unexplained_kind_ = DifferenceKind::None;
  for (size_t i = 0; i < expected_arrays_.size(); i++) {
    const Array &e = expected_arrays_[i].array, *a = find_array(actual, expected_arrays_[i].name);
    auto differs = a ? differing_elements(*a, e, CompareOptions().tolerance_for(ast_, e)) : Diag{""};
    if (!differs) return false;
    for (int64_t k = 0; k < e.size(); k++) {
      if (!(*differs)[size_t(k)]) continue;
      const double was = element_as_double(*a, k), is = element_as_double(e, k);
      if (is_element_explained(effects, i, k, was)) continue;
      if (!is_overflow_value(was, e.dtype()) && !is_overflow_value(is, e.dtype()))
        return unexplained_kind_ = DifferenceKind::Finite, false;
      unexplained_kind_ = DifferenceKind::NonFinite;
    }
  }
  return unexplained_kind_ == DifferenceKind::None;
}

bool RoundingEffect::is_element_explained(const Effects& effects, size_t i, int64_t k, double was) const {
  const Array& e = expected_arrays_[i].array;
  const double is = element_as_double(e, k);
  double steps = 0;  // for fp8: a tolerance of two units in the last place, because one rounding may change one unit
  if (e.dtype() == dtypes::fp8e4m3) steps = std::fabs(is) / 4;
  if (e.dtype() == dtypes::fp8e5m2) steps = std::fabs(is) / 2;
  const double far = kEffectMargin * effects[i][size_t(k)] + steps;
  return std::fabs(was - is) <= far || may_both_overflow(was, is, far, e.dtype());
}

void RoundingEffect::set_explained_elements(Arrays& settled) const {
  for (size_t i = 0; i < expected_arrays_.size(); i++) {
    const Array& e = expected_arrays_[i].array;
    auto found = std::ranges::find(settled, expected_arrays_[i].name, &NamedArray::name);
    if (found == settled.end() || found->array.size() != e.size() || found->array.dtype() != e.dtype()) continue;
    Array& a = found->array;
    const auto item = size_t(e.dtype().itemsize());
    for (int64_t k = 0; k < e.size(); k++)
      if (is_element_explained(effect_bounds_, i, k, element_as_double(a, k)))
        std::memcpy(a.data() + size_t(k) * item, e.data() + size_t(k) * item, item);
  }
}

RoundingEffect::Effects RoundingEffect::effects_of(UOp graph, const Arrays& plain) const {
  Effects out;
  for (const NamedArray& e : expected_arrays_) out.emplace_back(size_t(e.array.size()));
  Graph own(graph.graph().settings());
  UOp root = copy_into(own, graph);
  for (int way = 0; way < kNumPerturbations + 2; way++) {
    UOp off = way < kNumPerturbations ? perturb_rounding(root, way) : with_exact_floats(root, way > kNumPerturbations);
    auto other = reference_runner_.run_reference(off);
    if (!other) continue;
    for (size_t i = 0; i < expected_arrays_.size(); i++) {
      const Array *a = find_array(other->outputs, expected_arrays_[i].name),
                  *b = find_array(plain, expected_arrays_[i].name);
      if (a && b && a->size() == b->size()) raise_effects(*a, *b, way == kNumPerturbations, out[i]);
    }
  }
  return out;
}

}  // namespace tgc
