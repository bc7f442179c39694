#include "lib/run/all_sizes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/driver/source.h"

namespace tgc {
namespace {

// Returns the Magnitudes of data1 in the kernel data0[i] = `value`, where a = data1[i]. `dtype` and `to` are the dtypes
// of data1 and data0, and `stored` is the Magnitudes of data0.
Magnitudes sizes_of_data1(const std::string& dtype, const std::string& to, const std::string& value,
                          Magnitudes stored = Magnitudes::All) {
  const std::string text =
      "i = UOp.range(8, 0, AxisType.LOOP)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, " + dtype + ".ptr(8), (), 1).index(i)\n"
      "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 2)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, " + to + ".ptr(8), (), 0).index(i, ptr=True).store(" + value + ").end(i).sink()\n";
  const InputGraph in = std::move(load_graph_text({}, InputKind::Pyrender, text, "test.uop").value_or_throw());
  const std::vector<ScheduledKernel> kernels{{in.root, {0, 1, 2}}};
  std::vector<Magnitudes> magnitudes{stored, Magnitudes::All, Magnitudes::All};
  lower_array_magnitudes(kernels, magnitudes);
  return magnitudes[1];
}

}  // namespace

TEST_CASE("all sizes: arrays that decide an address, or whose values are rounded, keep usual values") {
  CHECK(sizes_of_data1("dtypes.int", "dtypes.int", "a.cast(dtypes.char).cast(dtypes.int)") == Magnitudes::All);
  CHECK(sizes_of_data1("dtypes.float", "dtypes.float", "a.cast(dtypes.half).cast(dtypes.float)") == Magnitudes::All);
  CHECK(sizes_of_data1("dtypes.int", "dtypes.int", "a*UOp.const(dtypes.int, 3)") == Magnitudes::Moderate);
  CHECK(sizes_of_data1("dtypes.int", "dtypes.float", "b.index(a)") == Magnitudes::Usual);
  CHECK(sizes_of_data1("dtypes.int", "dtypes.int", "UOp.const(dtypes.int, 100)//a") == Magnitudes::Usual);
  CHECK(sizes_of_data1("dtypes.float", "dtypes.float", "a+b.index(i)") == Magnitudes::Rounded);
  CHECK(sizes_of_data1("dtypes.float", "dtypes.int", "a.cast(dtypes.int)") == Magnitudes::Usual);
  CHECK(sizes_of_data1("dtypes.int", "dtypes.float", "a.cast(dtypes.float)*b.index(i)") == Magnitudes::Rounded);
  CHECK(sizes_of_data1("dtypes.int", "dtypes.float", "(a<500).cast(dtypes.float)*b.index(i)") == Magnitudes::All);
  CHECK(sizes_of_data1("dtypes.int", "dtypes.float", "b.index((a<500).cast(dtypes.int))") == Magnitudes::Usual);
  CHECK(sizes_of_data1("dtypes.int", "dtypes.int", "a", Magnitudes::Usual) == Magnitudes::Usual);
}

TEST_CASE("all sizes: values next to constants, and none beyond the limit") {
  const std::vector<double> constants{3, 500};
  Array a(dtypes::int32, {2000});
  REQUIRE(fill_all_magnitudes(a, "data1", Magnitudes::Moderate, constants, 0));
  for (int64_t wanted : {499, 500, 501, 497, 503, 1 << 24, -65536}) {
    CAPTURE(wanted);
    CHECK(std::ranges::count(a.as<int32_t>(), int32_t(wanted)) > 0);
  }
  for (int32_t x : a.as<int32_t>()) CHECK(std::abs(x) <= 1 << 24);
  Array bytes(dtypes::uint8, {2000});
  REQUIRE(fill_all_magnitudes(bytes, "data1", Magnitudes::Moderate, constants, 0));
  for (uint8_t x : bytes.as<uint8_t>()) CHECK(x <= 64);
  CHECK_FALSE(fill_all_magnitudes(a, "data1", Magnitudes::Usual, constants, 0));
}

}  // namespace tgc
