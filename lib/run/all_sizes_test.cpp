// Tests which arrays get values of all sizes, and which values these are.
#include "lib/run/all_sizes.h"

#include <doctest/doctest.h>

#include "lib/driver/source.h"
#include "lib/runtime/npz.h"

namespace tgc {
namespace {

// Returns the sizes of data1 in the kernel data0[i] = `value`, whose data0 may have values of the sizes `stored`.
Sizes sizes_of_data1(const std::string& dtype, const std::string& value, Sizes stored = Sizes::All) {
  const std::string text =
      "i = UOp.range(8, 0, AxisType.LOOP)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, " + dtype + ".ptr(8), (), 1).index(i)\n"
      "b = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), 2)\n"
      "v = " + value + "\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, v.dtype.ptr(8), (), 0).index(i, ptr=True).store(v).end(i).sink()\n";
  const InputGraph in = std::move(load_text({}, InputKind::Pyrender, text, "test.uop").value_or_throw());
  const std::vector<KernelArrays> kernels{{in.root, {0, 1, 2}}};
  std::vector<Sizes> sizes{stored, Sizes::All, Sizes::All};
  lower_sizes(kernels, sizes);
  return sizes[1];
}

}  // namespace

TEST_CASE("all sizes: arrays that decide an address, or whose values are rounded, keep usual values") {
  CHECK(sizes_of_data1("dtypes.int", "a.cast(dtypes.char).cast(dtypes.int)") == Sizes::All);
  CHECK(sizes_of_data1("dtypes.float", "a.cast(dtypes.half).cast(dtypes.float)") == Sizes::All);
  CHECK(sizes_of_data1("dtypes.int", "a*UOp.const(dtypes.int, 3)") == Sizes::Moderate);
  CHECK(sizes_of_data1("dtypes.int", "b.index(a)") == Sizes::Usual);
  CHECK(sizes_of_data1("dtypes.int", "UOp.const(dtypes.int, 100)//a") == Sizes::Usual);
  CHECK(sizes_of_data1("dtypes.float", "a+b.index(i)") == Sizes::Usual);
  CHECK(sizes_of_data1("dtypes.float", "a.cast(dtypes.int)") == Sizes::Usual);
  CHECK(sizes_of_data1("dtypes.int", "a.cast(dtypes.float)*b.index(i)") == Sizes::Usual);
  CHECK(sizes_of_data1("dtypes.int", "a", Sizes::Usual) == Sizes::Usual);  // another kernel reads data0 so
}

TEST_CASE("all sizes: values next to constants, and none beyond the limit") {
  const std::vector<double> constants{3, 500};
  Array a(dtypes::int32, {2000});
  REQUIRE(fill_all_sizes(a, "data1", Sizes::Moderate, constants, 0));
  for (int64_t wanted : {499, 500, 501, 497, 503, 1 << 24, -65536}) {
    bool is_there = false;
    for (int32_t x : a.as<int32_t>()) is_there |= x == wanted, CHECK(std::abs(x) <= 1 << 24);
    CHECK_MESSAGE(is_there, wanted);
  }
  Array bytes(dtypes::uint8, {2000});
  REQUIRE(fill_all_sizes(bytes, "data1", Sizes::Moderate, constants, 0));
  for (uint8_t x : bytes.as<uint8_t>()) CHECK(x <= 64);
  CHECK_FALSE(fill_all_sizes(a, "data1", Sizes::Usual, constants, 0));
}

}  // namespace tgc
