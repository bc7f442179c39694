#include "lib/runtime/compare.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "lib/support/counted.h"
#include "lib/support/deadline.h"

namespace tgc {
namespace {

uint64_t element_bits(const Array& a, int64_t i) {
  uint64_t bits = 0;
  size_t item = size_t(a.dtype().itemsize());
  std::memcpy(&bits, a.data() + size_t(i) * item, item);
  return bits;
}

constexpr uint64_t kMostUlpShown = 1 << 20;
constexpr int64_t kPiece = 1 << 16;

class ArrayComparer {
 public:
  ArrayComparer(Comparison& out, const Array& actual, const Array& expected, std::vector<bool>* where)
      : comparison_(out), actual_(actual), expected_(expected), is_different_(where) {}

  void compare_elements() {
    bool exact = !dtypes::is_float(actual_.dtype());
    for (int64_t i = 0; i < actual_.size(); i++) {
      if (i % kPiece == 0) throw_if_late();
      exact ? compare_exact(i) : compare_float(i);
    }
  }

 private:
  void compare_exact(int64_t i) {
    if (element_bits(actual_, i) == element_bits(expected_, i)) return;
    double difference = std::fabs(element_as_double(actual_, i) - element_as_double(expected_, i));
    if (difference == 0) difference = 1;  // the doubles can be equal although the 64-bit integers differ
    comparison_.max_abs_error = std::max(comparison_.max_abs_error, difference);
    double e = std::fabs(element_as_double(expected_, i));
    if (e != 0) comparison_.max_rel_error = std::max(comparison_.max_rel_error, difference / e);
    record_difference(i, difference);
  }

  void compare_float(int64_t i) {
    double a = element_as_double(actual_, i), e = element_as_double(expected_, i);
    comparison_.num_nan_actual += std::isnan(a), comparison_.num_nan_expected += std::isnan(e);
    comparison_.num_inf_actual += std::isinf(a), comparison_.num_inf_expected += std::isinf(e);
    if (std::isnan(a) && std::isnan(e)) return;
    if (!std::isfinite(a) || !std::isfinite(e)) {
      if (a != e) comparison_.num_non_finite++, record_difference(i, std::numeric_limits<double>::infinity());
      return;
    }
    if (a == e) return;
    double difference = std::fabs(a - e),
           allowed = comparison_.tolerance.atol + comparison_.tolerance.rtol * std::fabs(e);
    uint64_t ulp = ulp_distance(actual_.dtype(), element_bits(actual_, i), element_bits(expected_, i));
    comparison_.max_abs_error = std::max(comparison_.max_abs_error, difference);
    if (e != 0) comparison_.max_rel_error = std::max(comparison_.max_rel_error, difference / std::fabs(e));
    comparison_.max_ulp_error = std::max(comparison_.max_ulp_error, ulp);
    if (difference <= allowed || (comparison_.tolerance.ulp && ulp <= *comparison_.tolerance.ulp)) return;
    record_difference(i, allowed > 0 ? difference / allowed : difference * 1e30);
  }

  void record_difference(int64_t i, double excess) {
    comparison_.num_different++;
    if (is_different_) (*is_different_)[size_t(i)] = true;
    if (!comparison_.first_difference) comparison_.first_difference = element_difference(i);
    if (comparison_.worst_difference && excess <= worst_excess_) return;
    worst_excess_ = excess;
    comparison_.worst_difference = element_difference(i);
  }

  ElementDifference element_difference(int64_t i) const {
    return {i, element_text(actual_, i), element_text(expected_, i)};
  }

  Comparison& comparison_;
  const Array &actual_, &expected_;
  std::vector<bool>* is_different_;
  double worst_excess_ = 0;
};

std::string format_number(double v) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3g", v);
  return buffer;
}

double root_mean_square(const Array& a) {
  double squares = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < a.size(); i++) {
    if (i % kPiece == 0) throw_if_late();
    if (double v = element_as_double(a, i); std::isfinite(v)) squares += v * v, finite++;
  }
  return std::sqrt(squares / double(std::max<int64_t>(finite, 1)));
}

Result<Comparison> compare_by_tolerance(const std::string& name, const Array& actual, const Array& expected,
                                        const ToleranceOptions& options, std::vector<bool>* where) {
  if (actual.dtype() != expected.dtype() || actual.size() != expected.size())
    return Diag{.message = name + " is " + actual.describe() + " but the expected array is " + expected.describe()};
  Comparison out;
  out.name = name;
  out.dtype = actual.dtype();
  out.shape.assign(expected.shape().begin(), expected.shape().end());
  out.tolerance = options.dtype_tolerance(out.dtype);
  out.num_elements = actual.size();
  return catch_failures([&] { return ArrayComparer(out, actual, expected, where).compare_elements(), std::move(out); });
}

}  // namespace

Tolerance default_tolerance(DType dtype) {
  switch (dtype.scalar_kind()) {
    case Scalar::Float64: return {1e-9, 1e-9};
    case Scalar::Float32: return {1e-4, 1e-5};
    case Scalar::Float16: return {1e-2, 1e-3};
    case Scalar::BFloat16: return {4e-2, 1e-2};
    case Scalar::FP8E4M3: return {1.5e-1, 2e-2};
    case Scalar::FP8E5M2: return {3e-1, 5e-2};
    default: return {};
  }
}

namespace {
// Returns how far a sum of terms that are rounded to `dtype` may be off, as a fraction of the root mean square of such
// sums. FP8 has twice the unit roundoff, because its default atol is for single numbers.
double sum_error_bound(DType dtype) {
  switch (dtype.scalar_kind()) {
    case Scalar::FP8E4M3: return 0x1p-3;
    case Scalar::FP8E5M2: return 0x1p-2;
    default: return default_tolerance(dtype).atol;
  }
}
}  // namespace

ToleranceOptions tolerance_between_devices(const Array& expected, DType computed_in, bool sums) {
  if (!dtypes::is_float(expected.dtype())) return {};
  Tolerance own = default_tolerance(expected.dtype()), computed = default_tolerance(computed_in);
  const double rtol = std::max(own.rtol, computed.rtol);
  if (!sums) return {.rtol = rtol, .atol = std::max(own.atol, computed.atol)};
  const double size = std::max(1.0, root_mean_square(expected));
  return {.rtol = rtol, .atol = std::max(own.atol, sum_error_bound(computed_in)) * size};
}

Tolerance ToleranceOptions::dtype_tolerance(DType dtype) const {
  if (!dtypes::is_float(dtype)) return {};
  Tolerance t = default_tolerance(dtype);
  if (ulp && !rtol && !atol) t = {};
  if (rtol) t.rtol = *rtol;
  if (atol) t.atol = *atol;
  t.ulp = ulp;
  return t;
}

uint64_t ulp_distance(DType dtype, uint64_t a, uint64_t b) {
  // consecutive floats become consecutive integers
  int bits = dtype.bitsize();
  auto ordered = [bits](uint64_t v) {
    uint64_t sign = uint64_t(1) << (bits - 1);
    return v & sign ? -int64_t(v & (sign - 1)) : int64_t(v);
  };
  int64_t x = ordered(a), y = ordered(b);
  return x > y ? uint64_t(x) - uint64_t(y) : uint64_t(y) - uint64_t(x);
}

Result<Comparison> compare_arrays(const std::string& name, const Array& actual, const Array& expected,
                                  const ToleranceOptions& options) {
  return compare_by_tolerance(name, actual, expected, options, nullptr);
}

Result<std::vector<bool>> differing_elements(const Array& actual, const Array& expected,
                                             const ToleranceOptions& options) {
  std::vector<bool> out(size_t(actual.size()));
  auto done = compare_by_tolerance("the array", actual, expected, options, &out);
  if (!done) return done.diag();
  return out;
}

std::string Comparison::text() const {
  bool is_float = dtypes::is_float(dtype);
  std::string out = name + " " + std::string(dtype_text(dtype)) + " " + shape_text(shape) + ": ";
  std::string errors = "max abs " + format_number(max_abs_error) + ", max rel " + format_number(max_rel_error) +
                       (is_float && max_ulp_error <= kMostUlpShown ? ", max ulp " + std::to_string(max_ulp_error) : "");
  if (num_non_finite == num_different && num_different)
    errors = count_text(num_non_finite, "element") + " infinite or NaN on one side";
  else if (num_non_finite) errors += ", and " + count_text(num_non_finite, "element") + " infinite or NaN on one side";
  std::string others = num_left_out ? "; " + std::to_string(num_left_out) + " of " + std::to_string(num_elements) +
                                      " left out: " + kLeftOutReason + " them"
                                : "";
  if (num_explained_by_rounding)
    others += "; " + std::to_string(num_explained_by_rounding) + " of " + std::to_string(num_elements) +
              " beyond the tolerance, but within the effect of rounding";
  if (has_passed() && (num_inf_actual || num_nan_actual))
    others += "; it holds " + (num_inf_actual ? std::to_string(num_inf_actual) + " Inf" : "") +
              (num_inf_actual && num_nan_actual ? " and " : "") +
              (num_nan_actual ? std::to_string(num_nan_actual) + " NaN" : "");
  if (has_passed())
    return out + "same" + (max_abs_error > 0 ? " within tolerance (" + errors + ")" : " exactly") + others;
  out += std::to_string(num_different) + " of " + std::to_string(num_elements) + " differ, " + errors + others;
  if (is_float) {
    out += "\n  tolerance: rtol " + format_number(tolerance.rtol) + ", atol " + format_number(tolerance.atol) +
           (tolerance.ulp ? ", " + std::to_string(*tolerance.ulp) + " ulp" : "");
    out += "\n  NaN: " + std::to_string(num_nan_actual) + ", expected " + std::to_string(num_nan_expected) +
           "; Inf: " + std::to_string(num_inf_actual) + ", expected " + std::to_string(num_inf_expected);
  }
  auto place = [&](const char* what, const ElementDifference& d) {
    return std::string("\n  ") + what + " " + index_text(shape, d.flat_index) + ": " + d.actual + ", expected " +
           d.expected;
  };
  return out + place("first", *first_difference) + place("worst", *worst_difference);
}

}  // namespace tgc
