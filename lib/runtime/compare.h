// Comparison of arrays with reference values: |actual - expected| <= atol + rtol * |expected|, NaN equals NaN,
// infinities equal themselves; integers and bools must be the same.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/runtime/array.h"

namespace tgc {

struct Tolerance {
  double rtol = 0, atol = 0;
  std::optional<uint64_t> ulp = {};  // when given, an element this many representable values away, or fewer, passes too

  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

// What two correct computations of a `dtype` may differ by: sums in another order, functions with errors of a few ulp.
Tolerance default_tolerance(DType dtype);

// What a user asked for. `ulp` alone means that distance alone; a tolerance that is not given is the dtype's default.
struct ToleranceOptions {
  std::optional<double> rtol, atol;
  std::optional<uint64_t> ulp;
  Tolerance for_dtype(DType dtype) const;
};

// What two devices may differ by in an array of a kernel that rounds to `computed_in` and, with `sums`, adds up
// (lib/runtime/ref/rounding.h). A sum of large numbers that comes out small is as exact as those numbers, so the
// absolute tolerance of sums grows with the size of what the array holds (its root mean square, of finite elements). A
// wrong term, a term too many or too few and a wrong place are off by about that size itself: ten thousand times as
// much, for float32.
ToleranceOptions tolerance_between_devices(const Array& expected, DType computed_in, bool sums);

struct ElementDifference {
  int64_t index = 0;  // flat
  std::string actual, expected;
};

struct Comparison {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  Tolerance tolerance;
  int64_t size = 0, different = 0;
  // over elements where both are finite; relative to |expected|, where that is not zero
  double max_abs = 0, max_rel = 0;
  uint64_t max_ulp = 0;
  int64_t nan_actual = 0, nan_expected = 0, inf_actual = 0, inf_expected = 0;
  // the first that differs, and the one that misses its tolerance by most
  std::optional<ElementDifference> first, worst;
  // elements that differ and say nothing, because rounding, or what C leaves undefined, decides them; not in
  // `different`
  int64_t left_out = 0;

  bool passed() const { return different == 0; }
  std::string text() const;  // one line when passed, else several, indented
};

// Both of the same dtype and number of elements, else an error.
Result<Comparison> compare_arrays(const std::string& name, const Array& actual, const Array& expected,
                                  const ToleranceOptions& options);

// Which elements differ; the same as compare_arrays counts.
Result<std::vector<bool>> differing_elements(const Array& actual, const Array& expected,
                                             const ToleranceOptions& options);

// How many representable values lie between two floats of `dtype` given as bits: 0 for equal ones, +0 and -0 are equal.
uint64_t ulp_distance(DType dtype, uint64_t a, uint64_t b);

}  // namespace tgc
