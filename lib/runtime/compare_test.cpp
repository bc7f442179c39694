#include "lib/runtime/compare.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/dtype/const.h"
#include "lib/runtime/random.h"

namespace tgc {
namespace {

template <class T>
Array array_of(DType dtype, std::vector<T> values) {
  Array a(dtype, {int64_t(values.size())});
  std::copy(values.begin(), values.end(), a.as<T>().begin());
  return a;
}
Array floats(std::vector<float> v) { return array_of(dtypes::float32, v); }

Comparison compare(const Array& a, const Array& e, const ToleranceOptions& options = {}) {
  auto r = compare_arrays("data0", a, e, options);
  REQUIRE(r.ok());
  return *r;
}

TEST_CASE("compare: tolerance is atol + rtol * |expected|") {
  ToleranceOptions o{.rtol = 0.1, .atol = 1.0};
  CHECK(compare(floats({11.9f}), floats({10.f}), o).has_passed());
  CHECK_FALSE(compare(floats({12.1f}), floats({10.f}), o).has_passed());
  CHECK(compare(floats({-8.1f}), floats({-10.f}), o).has_passed());
  CHECK_FALSE(compare(floats({1.f}), floats({1.001f})).has_passed());
  CHECK(compare(floats({1.f}), floats({1.00001f})).has_passed());
}

TEST_CASE("compare: NaN equals NaN, infinities equal themselves, and both are counted") {
  float nan = NAN, inf = INFINITY;
  CHECK(compare(floats({nan, inf, -inf}), floats({nan, inf, -inf})).has_passed());
  auto c = compare(floats({nan, inf, 1, 2}), floats({1, -inf, nan, 2}));
  CHECK(c.num_different == 3);
  CHECK(c.num_nan_actual == 1);
  CHECK(c.num_nan_expected == 1);
  CHECK(c.num_inf_actual == 1);
  CHECK(c.num_inf_expected == 1);
  CHECK(compare(floats({0.f}), floats({-0.f})).has_passed());
}

TEST_CASE("compare: reports the first and the worst element with both values") {
  auto c = compare(floats({1, 2.5f, 3, 9}), floats({1, 2, 3, 4}));
  CHECK(c.num_different == 2);
  CHECK(c.first_difference->flat_index == 1);
  CHECK(c.worst_difference->flat_index == 3);
  CHECK(c.worst_difference->actual == "9");
  CHECK(c.worst_difference->expected == "4");
  CHECK(c.max_abs_error == 5);
  CHECK(c.text().find("2 of 4 differ") != std::string::npos);
}

TEST_CASE("compare: integers and bools are exact") {
  CHECK_FALSE(compare(array_of<int32_t>(dtypes::int32, {1000000}), array_of<int32_t>(dtypes::int32, {1000001}),
                      {.rtol = 1, .atol = 1})
                  .has_passed());
  auto big =
      compare(array_of<int64_t>(dtypes::int64, {(1ll << 60) + 1}), array_of<int64_t>(dtypes::int64, {1ll << 60}));
  CHECK(big.num_different == 1);
  CHECK(big.max_abs_error > 0);
  CHECK_FALSE(compare(array_of<uint8_t>(dtypes::bool_, {1}), array_of<uint8_t>(dtypes::bool_, {0})).has_passed());
}

TEST_CASE("compare: elements within --ulp representable values pass") {
  float one = 1, next = std::nextafterf(one, 2), third = std::nextafterf(std::nextafterf(next, 2), 2);
  CHECK(compare(floats({third}), floats({one}), {.ulp = 3}).has_passed());
  CHECK_FALSE(compare(floats({third}), floats({one}), {.ulp = 2}).has_passed());
  CHECK(compare(floats({third}), floats({one}), {.ulp = 2}).max_ulp_error == 3);
  float tiny = std::nextafterf(0.f, 1);
  uint32_t bits;
  std::memcpy(&bits, &tiny, 4);
  CHECK(ulp_distance(dtypes::float32, bits, bits | 0x80000000) == 2);
  CHECK(ulp_distance(dtypes::float32, 0, 0x80000000) == 0);
  CHECK(ulp_distance(dtypes::float64, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF) == 2 * uint64_t(0x7FEFFFFFFFFFFFFF));
}

TEST_CASE("compare: different dtypes or sizes are an error, different shapes are not") {
  CHECK_FALSE(compare_arrays("x", floats({1}), floats({1, 2}), {}).ok());
  CHECK_FALSE(compare_arrays("x", floats({1}), array_of<int32_t>(dtypes::int32, {1}), {}).ok());
  CHECK(compare_arrays("x", Array(dtypes::float32, {4}), Array(dtypes::float32, {2, 2}), {}).ok());
}

TEST_CASE("random inputs depend only on seed and name, and are in range") {
  Array a(dtypes::float32, {1000}), b(dtypes::float32, {500}), c(dtypes::float32, {500}), d(dtypes::float32, {500});
  fill_random(a, 1, "data1"), fill_random(b, 1, "data1"), fill_random(c, 2, "data1"), fill_random(d, 1, "data2");
  CHECK(std::memcmp(a.data(), b.data(), b.nbytes()) == 0);
  CHECK(std::memcmp(b.data(), c.data(), b.nbytes()) != 0);
  CHECK(std::memcmp(b.data(), d.data(), b.nbytes()) != 0);
  double sum = 0, squares = 0;
  for (float v : a.as<float>()) {
    sum += v, squares += v * v;
    CHECK(std::fabs(v) < 3.5);
  }
  CHECK(std::fabs(sum / 1000) < 0.15);
  CHECK(std::fabs(squares / 1000 - 1) < 0.15);
  for (DType t : {dtypes::int8, dtypes::uint8, dtypes::int32, dtypes::uint64}) {
    Array ints(t, {200});
    fill_random(ints, 3, "x");
    for (int64_t i = 0; i < 200; i++)
      CHECK((element_as_double(ints, i) != 0 && std::fabs(element_as_double(ints, i)) <= 50));
  }
}

TEST_CASE("fill_wide_range: each row of eight integers has both ends of the dtype; floats have zeros and denormals") {
  for (DType t : {dtypes::int8, dtypes::uint8, dtypes::int64}) {
    Array ints(t, {32});
    fill_wide_range(ints, 0, "x");
    const double least = t == dtypes::uint8 ? 128 : t == dtypes::int8 ? -128 : -0x1p63;
    for (int64_t row = 0; row < 32; row += 8) {
      int zeros_or_ones = 0, ends = 0, all_bits = 0;
      for (int64_t i = row; i < row + 8; i++) {
        const double v = element_as_double(ints, i);
        zeros_or_ones += v == 0 || v == 1, ends += v == least, all_bits += v == (t == dtypes::uint8 ? 255 : -1);
      }
      CHECK((zeros_or_ones > 0 && ends > 0 && all_bits > 0));
    }
  }
  for (DType t : {dtypes::float32, dtypes::float16, dtypes::bfloat16}) {
    Array floats(t, {1000});
    fill_wide_range(floats, 0, "x");
    const double least = t == dtypes::float16 ? 0x1p-14 : 0x1p-126;
    int negative_zeros = 0, denormals = 0, large = 0;
    for (int64_t i = 0; i < 1000; i++) {
      const double v = element_as_double(floats, i);
      negative_zeros += v == 0 && std::signbit(v), denormals += v != 0 && std::fabs(v) < least;
      large += std::fabs(v) > 500;
    }
    CHECK((negative_zeros > 0 && denormals > 0 && large > 0));
  }
}

// A bug in a float product of 24x200 by 200x24 matrices. Each sum starts with term number `first`.
enum class Mutation { None, OneTermLess, OneTermTwice, OtherSign, NextColumn, Transposed, Shifted, Unscaled };
Array product(const Array& a, const Array& b, size_t first, Mutation mutation) {
  constexpr size_t kSize = 24, kTerms = 200;
  Array out(dtypes::float32, {kSize, kSize});
  auto x = a.as<float>(), y = b.as<float>();
  auto o = out.as<float>();
  for (size_t i = 0; i < kSize; i++)
    for (size_t j = 0; j < kSize; j++) {
      float sum = 0;
      size_t column = mutation == Mutation::NextColumn ? (j + 1) % kSize : j;
      for (size_t n = 0; n < kTerms; n++) {
        size_t k = (first + n) % kTerms;
        if (k == 7 && mutation == Mutation::OneTermLess) continue;
        float term = x[i * kTerms + k] * y[k * kSize + column];
        sum += k == 7 && mutation == Mutation::OtherSign      ? -term
               : k == 7 && mutation == Mutation::OneTermTwice ? 2 * term
                                                              : term;
      }
      size_t at = mutation == Mutation::Transposed ? j * kSize + i
                  : mutation == Mutation::Shifted  ? (i * kSize + j + 1) % (kSize * kSize)
                                                   : i * kSize + j;
      o[at] = mutation == Mutation::Unscaled ? sum * 1.001f : sum;
    }
  return out;
}

TEST_CASE("compare: the tolerance of sums accepts another order of the terms and rejects wrong kernels") {
  for (float scale : {1.f, 1e4f}) {  // with 1e4, reordering a sum exceeds the default tolerance
    Array a(dtypes::float32, {24 * 200}), b(dtypes::float32, {24 * 200});
    fill_random(a, 1, "a"), fill_random(b, 1, "b");
    for (float& v : a.as<float>()) v *= scale;
    for (float& v : b.as<float>()) v *= scale;
    Array expected = product(a, b, 0, Mutation::None);
    ToleranceOptions tolerance = tolerance_between_devices(expected, dtypes::float32, true);
    CHECK(compare(product(a, b, 100, Mutation::None), expected, tolerance).has_passed());
    for (Mutation m : {Mutation::OneTermLess, Mutation::OneTermTwice, Mutation::OtherSign, Mutation::NextColumn,
                       Mutation::Transposed, Mutation::Shifted, Mutation::Unscaled}) {
      Comparison c = compare(product(a, b, 0, m), expected, tolerance);
      CAPTURE(int(m));
      CHECK(c.num_different > 500);
    }
  }
  Array small = floats({1e-3f, -2e-3f});
  CHECK(tolerance_between_devices(small, dtypes::float32, true).atol == default_tolerance(dtypes::float32).atol);
  CHECK_FALSE(tolerance_between_devices(array_of<int32_t>(dtypes::int32, {1000000}), dtypes::float32, true).atol);
}

TEST_CASE("compare: the tolerance is that of the less exact of the computed and the stored dtype") {
  Array floats_of_halves = floats({100, 0.5f});
  ToleranceOptions half = tolerance_between_devices(floats_of_halves, dtypes::float16, false);
  CHECK(half.rtol == default_tolerance(dtypes::float16).rtol);
  CHECK(half.atol == default_tolerance(dtypes::float16).atol);
  CHECK(compare(floats({100.1f, 0.5f}), floats_of_halves, half).has_passed());
  CHECK_FALSE(compare(floats({102, 0.5f}), floats_of_halves, half).has_passed());
  CHECK(tolerance_between_devices(array_of<uint16_t>(dtypes::float16, {0}), dtypes::float32, false).rtol ==
        default_tolerance(dtypes::float16).rtol);
}

TEST_CASE("random: floats of Floats::Unit are between 0 and 1 and reproducible") {
  Array a(dtypes::float32, {10000}), b(dtypes::float32, {10000});
  fill_random(a, 5, "x", FloatKind::Unit), fill_random(b, 5, "x", FloatKind::Unit);
  auto values = a.as<float>();
  CHECK(std::equal(values.begin(), values.end(), b.as<float>().begin()));
  CHECK(std::all_of(values.begin(), values.end(), [](float v) { return v > 0 && v < 1; }));
  CHECK(*std::max_element(values.begin(), values.end()) > 0.5f);
}

}  // namespace
}  // namespace tgc
