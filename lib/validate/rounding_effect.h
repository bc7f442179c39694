// Finds how much rounding may change each element that a kernel stores, to tell rounding from faults where no fixed
// tolerance can: a sum of bfloat16 that stops growing at 256 may be off by half of its value.
#pragma once
#include <vector>

#include "lib/validate/reference_runner.h"

namespace tgc {

// The effect of rounding on an element is its largest change if roundings are perturbed (perturb_rounding.h), if all
// float arithmetic is done in double precision, or if each term of a sum grows by a rounding error. It is at least the
// root mean square of the changes in double precision over the array, because a single element may change by chance.
class RoundingEffect {
 public:
  // `ref` runs the kernel `ast` in REF; `expected` is what the AST stores there. All must outlive this object.
  RoundingEffect(const ReferenceRunner& ref, UOp ast, const Arrays& expected)
      : ref_(ref), ast_(ast), expected_(expected) {}

  // Returns whether rounding explains every difference between `settled` and the expected arrays: at most eight times
  // its effect in the AST, or its effects in the AST and in `root` together, if `root` is not empty. `root` is the
  // graph that stored the arrays `actual`. A later graph than the AST may round with bit operations (bfloat16), which
  // cannot be perturbed, so the second bound is kept for the following calls. `settled` is `actual` with the expected
  // values for undefined elements (ReferenceRunner::compare).
  bool explains(const Arrays& actual, const Arrays& settled, UOp root = {});

  // Gives each element of `settled` that the last call explained, though not all of them, its expected value.
  void settle(Arrays& settled) const;

  // Returns whether the last call failed, and one of the values of each unexplained element is NaN or infinite, or the
  // largest number of an fp8 dtype.
  bool is_non_finite() const { return off_ == Off::NonFinite; }

 private:
  using Effects = std::vector<std::vector<double>>;  // by array and element

  bool explained_by(const Effects& effects, const Arrays& actual);
  // Returns whether an effect explains that the element `k` of the expected array `i` is `was`.
  bool is_explained(const Effects& effects, size_t i, int64_t k, double was) const;
  Effects effects_of(UOp graph, const Arrays& plain) const;

  const ReferenceRunner& ref_;
  UOp ast_;
  const Arrays& expected_;
  Effects in_ast_;  // empty until needed
  Effects bound_;   // in_ast_, plus the effects in the last graph that required them
  enum class Off : uint8_t { None, NonFinite, Finite };
  Off off_ = Off::None;  // the unexplained differences of the last call
};

}  // namespace tgc
