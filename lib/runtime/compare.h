// Compares arrays with reference values. A float passes if |actual - expected| <= atol + rtol * |expected|; NaN equals
// NaN, and infinities equal themselves. Integers and bools must be equal.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/runtime/array.h"

namespace tgc {

struct Tolerance {
  double rtol = 0, atol = 0;
  std::optional<uint64_t> ulp = {};  // if set, elements that are at most this many representable values apart pass too

  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

// The tolerance for comparing two correct computations in `dtype`, which may differ in summation order or a few ulp.
Tolerance default_tolerance(DType dtype);

// The user's tolerances. rtol and atol that are not set are the dtype's defaults, or 0 if only `ulp` is set.
struct ToleranceOptions {
  std::optional<double> rtol, atol;
  std::optional<uint64_t> ulp;
  Tolerance for_dtype(DType dtype) const;
};

// Returns the tolerance for comparing two devices on an array of a kernel whose least exact dtype is `computed_in`
// (lib/runtime/ref/rounding.h). `sums`: the kernel adds up terms. A small sum of large terms is only as exact as the
// terms, so with `sums` the absolute tolerance grows with the root mean square of the finite elements. A bug in the
// kernel (a wrong, missing or extra term, or a wrong index) makes an error about as large as that mean: for float32,
// ten thousand times the tolerance.
ToleranceOptions tolerance_between_devices(const Array& expected, DType computed_in, bool sums);

struct ElementDifference {
  int64_t index = 0;  // flat index
  std::string actual, expected;
};

struct Comparison {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  Tolerance tolerance;
  int64_t size = 0, different = 0;
  // maxima over elements that are finite in both arrays; max_rel is relative to |expected| where that is not 0
  double max_abs = 0, max_rel = 0;
  uint64_t max_ulp = 0;
  int64_t nan_actual = 0, nan_expected = 0, inf_actual = 0, inf_expected = 0;
  // the first differing element, and the one that exceeds its tolerance most
  std::optional<ElementDifference> first, worst;
  // number of differing elements not counted in `different`: rounding or C's undefined behavior decides their values
  int64_t left_out = 0;

  bool passed() const { return different == 0; }
  std::string text() const;  // one line if all pass, else several indented lines
};

// Compares two arrays; returns an error if their dtypes or numbers of elements differ.
Result<Comparison> compare_arrays(const std::string& name, const Array& actual, const Array& expected,
                                  const ToleranceOptions& options);

// Returns for each element whether it differs, by the same criterion as compare_arrays.
Result<std::vector<bool>> differing_elements(const Array& actual, const Array& expected,
                                             const ToleranceOptions& options);

// The number of representable values between two floats of `dtype`, given as bits: 0 if equal, and for +0 and -0.
uint64_t ulp_distance(DType dtype, uint64_t a, uint64_t b);

}  // namespace tgc
