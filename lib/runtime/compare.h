// Compares arrays with reference values. Finite floats pass if |actual - expected| <= atol + rtol * |expected|, or if
// they are within the tolerance in ulp; NaN equals NaN, and an infinity only itself. Integers and bools must be equal.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/runtime/array.h"

namespace tgc {

struct Tolerance {
  double rtol = 0, atol = 0;
  std::optional<uint64_t> ulp = {};

  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

// Returns the tolerance for two correct computations in `dtype`, which may differ in summation order or by a few ulp.
Tolerance default_tolerance(DType dtype);

// For floats, an unset rtol or atol is the dtype's default, or 0 if only `ulp` is set.
struct ToleranceOptions {
  std::optional<double> rtol, atol;
  std::optional<uint64_t> ulp;
  Tolerance dtype_tolerance(DType dtype) const;
};

// Returns the tolerance for an array that two devices computed. `computed_in`: the kernel's least exact dtype
// (lib/runtime/ref/rounding.h). With `sums` (the kernel adds up terms), atol grows with the root mean square of the
// finite elements of `expected`.
ToleranceOptions tolerance_between_devices(const Array& expected, DType computed_in, bool sums);

struct ElementDifference {
  int64_t flat_index = 0;
  std::string actual, expected;
};

inline constexpr const char* kLeftOutReason = "rounding, or what C leaves undefined, decides";

struct Comparison {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  Tolerance tolerance;
  // number of all elements; number of elements beyond the tolerance, without those of num_left_out and
  // num_explained_by_rounding
  int64_t num_elements = 0, num_different = 0;
  // Maxima over the elements that are finite in both arrays; max_rel_error ignores expected zeros.
  double max_abs_error = 0, max_rel_error = 0;
  uint64_t max_ulp_error = 0;
  int64_t num_nan_actual = 0, num_nan_expected = 0, num_inf_actual = 0, num_inf_expected = 0;
  int64_t num_non_finite = 0;  // number of elements beyond the tolerance that are infinite or NaN in either array
  std::optional<ElementDifference> first_difference, worst_difference;
  // number of elements beyond the tolerance whose values depend on rounding or on behavior that C leaves undefined
  int64_t num_left_out = 0;
  int64_t num_explained_by_rounding = 0;  // number of elements beyond the tolerance whose differences rounding explains
  // true if elements differ and time ran out in the recheck, which finds the elements that depend on rounding
  bool is_recheck_incomplete = false;

  bool has_passed() const { return num_different == 0; }
  bool has_compared_elements() const { return num_left_out < num_elements || num_elements == 0; }
  std::string text() const;  // returns one line and, if elements differ, indented lines with the details
};

// Returns an error if the dtypes or numbers of elements differ, or if the deadline is over.
Result<Comparison> compare_arrays(const std::string& name, const Array& actual, const Array& expected,
                                  const ToleranceOptions& options);

// Returns for each element whether it differs by more than the tolerance, with the errors of compare_arrays().
Result<std::vector<bool>> differing_elements(const Array& actual, const Array& expected,
                                             const ToleranceOptions& options);

// Returns how many representable values two floats of `dtype` (given as bits) are apart; 0 for +0 and -0.
uint64_t ulp_distance(DType dtype, uint64_t a, uint64_t b);

}  // namespace tgc
