#include "lib/dtype/dtype.h"

#include <doctest/doctest.h>

#include "lib/dtype/const.h"
#include "lib/support/pytext.h"
#include "lib/support/testing.h"

using namespace tgc;

namespace {

// Parses texts such as "dtypes.half.vec(8).ptr(32,AddrSpace.LOCAL)".
DType dtype_of(std::string_view text) {
  static constexpr int64_t kShape[] = {4, 16, 4};
  auto number = [](std::string_view s) { return std::stoll(std::string(s)); };
  DType d;
  text.remove_prefix(7);
  size_t end = std::min(text.find('.'), text.size());
  std::string_view name = text.substr(0, end);
  if (name.starts_with("image")) {
    d = name[5] == 'f' ? dtypes::imagef(kShape) : dtypes::imageh(kShape);
  } else {
    auto known = dtypes::parse(name);
    REQUIRE_MESSAGE(known.has_value(), name);
    d = *known;
  }
  while (end < text.size()) {
    size_t open = text.find('(', end), close = text.find(')', open);
    std::string_view inside = text.substr(open + 1, close - open - 1);
    AddrSpace space = inside.ends_with("LOCAL") ? AddrSpace::LOCAL
                      : inside.ends_with("REG") ? AddrSpace::REG
                                                : AddrSpace::GLOBAL;
    d = text.substr(end, 4) == ".vec" ? d.vec(number(inside))
                                      : d.ptr(number(inside.substr(0, inside.find(','))), space);
    end = close + 1;
  }
  return d;
}

Const const_of(const std::string& text) {
  if (text == "True" || text == "False") return text == "True";
  if (auto i = Int::parse(text)) return *i;
  return *parse_py_float(text);
}

}  // namespace

TEST_CASE("dtypes: promotion, casts, limits, names and order equal tinygrad's") {
  auto lines = read_test_lines("expect/dtype.txt");
  REQUIRE(lines.size() > 700);
  for (const std::string& line : lines) {
    INFO(line);
    auto w = words_of(line);
    DType a = dtype_of(w[1]), b = w[2] == "-" ? DType() : dtype_of(w[2]);
    std::string got;
    std::string expected = line.substr(w[0].size() + w[1].size() + w[2].size() + 3);
    if (w[0] == "promote") got = least_upper_dtype({a, b}).repr();
    else if (w[0] == "lossless") got = can_lossless_cast(a, b) ? "1" : "0";
    else if (w[0] == "float") got = least_upper_float(a).repr();
    else if (w[0] == "acc") got = sum_acc_dtype(a).repr();
    else if (w[0] == "min") got = dtypes::min(a).str();
    else if (w[0] == "max") got = dtypes::max(a).str();
    else if (w[0] == "size") got = std::to_string(a.itemsize());
    else if (w[0] == "name") got = a.name();
    else if (w[0] == "priority") got = std::to_string(a.priority());
    else if (w[0] == "bits") got = std::to_string(a.bitsize());
    else if (w[0] == "less") got = a < b ? "1" : "0";
    CHECK(got == expected);
  }
}

TEST_CASE("dtypes: truncate equals tinygrad's") {
  auto lines = read_test_lines("expect/truncate.txt");
  REQUIRE(lines.size() > 1400);
  for (const std::string& line : lines) {
    INFO(line);
    auto w = words_of(line);
    auto got = catch_failures([&] { return truncate(const_of(w[1]), dtype_of(w[0])).str(); });
    CHECK((got ? *got : "error") == w[2]);
  }
}

TEST_CASE("dtypes: every fp8 value converts to tinygrad's float") {
  for (const std::string& line : read_test_lines("expect/fp8.txt")) {
    INFO(line);
    auto w = words_of(line);
    Scalar kind = dtype_of(w[0]).scalar_kind();
    double v = fp8_to_float(uint8_t(std::stoi(w[1])), kind);
    CHECK(py_repr(v) == w[2]);
  }
}

TEST_CASE("dtypes: a scalar of another release has the limits of void, and no promotion") {
  const DType weakint = dtypes::parse_any_release("weakint");
  CHECK(!dtypes::min(weakint).truthy());
  CHECK(dtypes::max(weakint).truthy());
  CHECK(!catch_failures([&] { return least_upper_dtype({weakint, dtypes::int32}); }));
}

TEST_CASE("dtypes: repr is Python's, and equal dtypes have equal handles") {
  static constexpr int64_t kShape[] = {4, 16, 4};
  CHECK(dtypes::float32.vec(4).ptr(16).repr() == "dtypes.float.vec(4).ptr(16)");
  CHECK(dtypes::float16.ptr(8, AddrSpace::LOCAL).vec(2).repr() == "dtypes.half.ptr(8, AddrSpace.LOCAL).vec(2)");
  CHECK(dtypes::imagef(kShape).repr() == "dtypes.imagef((4, 16, 4))");
  CHECK(dtypes::int32.vec(3) == dtypes::int32.vec(3));
  CHECK(dtypes::int32.vec(3) != dtypes::int32.vec(4));
  CHECK(dtypes::int32.ptr(4) != dtypes::int32.ptr(4, AddrSpace::REG));
  CHECK(dtypes::imagef(kShape, 64) != dtypes::imagef(kShape));
  CHECK(dtypes::float32.vec(4).scalar() == dtypes::float32);
  CHECK(dtypes::float32.ptr(4).base() == dtypes::float32);
  CHECK(dtypes::float32.vec(1) == dtypes::float32);
  CHECK(!catch_failures([] { return dtypes::float32.vec(4).vec(2); }));
  CHECK(!catch_failures([] { return dtypes::float32.ptr(4).ptr(2); }));
}
