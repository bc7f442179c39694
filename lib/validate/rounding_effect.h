// RoundingEffect computes how much rounding may change each element that a kernel stores, where a fixed tolerance is
// not enough: a sum of bfloat16 that stops growing at 256 may be wrong by half of its value.
#pragma once
#include <vector>

#include "lib/validate/reference_runner.h"

namespace tgc {

// The effect of rounding on an element is its largest change if roundings are perturbed (perturb_rounding.h), if all
// float arithmetic is done in double precision, or if each term of a sum grows by a rounding error. It is at least the
// root mean square of the changes in double precision over the array, because a single element may change by chance.
class RoundingEffect {
 public:
  // `ref` runs the kernel `ast` in REF, and `expected` are the arrays that the AST stores in REF. All must outlive this
  // object.
  RoundingEffect(const ReferenceRunner& ref, UOp ast, const Arrays& expected)
      : reference_runner_(ref), ast_(ast), expected_arrays_(expected) {}

  // Returns true if rounding explains every difference between `settled` and the expected arrays: each is at most a
  // fixed multiple of the effect of rounding in the AST or, if `root` is not empty, in the AST and in `root` together
  // (for fp8, plus two units in the last place), or both values may overflow. The `root` of an earlier call may count,
  // too. `root` is the graph that stored `actual`. `settled` is `actual` with the expected values for elements that
  // rounding decides (ReferenceRunner).
  bool are_differences_explained(const Arrays& actual, const Arrays& settled, UOp root = {});

  // After a call of are_differences_explained() without `root` that returned false: sets the elements of `settled` that
  // rounding does explain to their expected values.
  void set_explained_elements(Arrays& settled) const;

  // Returns true if the last call of are_differences_explained() returned false, and for each unexplained element, the
  // actual or the expected value is NaN, infinite, or the largest number of an fp8 dtype.
  bool is_non_finite() const { return unexplained_kind_ == DifferenceKind::NonFinite; }

 private:
  using Effects = std::vector<std::vector<double>>;  // by array and element

  bool are_explained(const Effects& effects, const Arrays& actual);
  // Returns true if the effects explain that element `k` of the expected array `i` has the actual value `was`.
  bool is_element_explained(const Effects& effects, size_t i, int64_t k, double was) const;
  Effects effects_of(UOp graph, const Arrays& plain) const;

  const ReferenceRunner& reference_runner_;
  UOp ast_;
  const Arrays& expected_arrays_;
  Effects effects_in_ast_;  // the effects in the AST; empty until they are needed
  // effects_in_ast_ plus the effects in the last `root` that were needed to explain all differences
  Effects effect_bounds_;
  enum class DifferenceKind : uint8_t { None, NonFinite, Finite };
  DifferenceKind unexplained_kind_ = DifferenceKind::None;
};

}  // namespace tgc
