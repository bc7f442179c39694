#include "lib/validate/reference_runner.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "lib/compilation/input_graph.h"
#include "lib/validate/compare_outputs.h"

namespace tgc {
namespace {

// A kernel that computes data0[i] = f(a, b), where a and b are the floats data1[i] and data2[i] for i < 8. `actual` has
// the values that the kernel stored.
struct StoredKernel {
  InputGraph loaded;
  Arrays inputs, actual, expected;

  StoredKernel(const std::string& f, std::vector<float> a, std::vector<float> b, std::vector<float> stored,
               std::vector<float> wanted) {
    std::string global = "UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(8), (), ";
    std::string text = "i = UOp.range(8, 0, AxisType.LOOP)\na = " + global + "1).index(i)\nb = " + global +
                       "2).index(i)\nast = " + global + "0).index(i, ptr=True).store(" + f + ").end(i).sink()\n";
    loaded = std::move(load_graph_text({}, InputKind::Pyrender, text, "test").value_or_throw());
    add(inputs, "data0", std::vector<float>(8)), add(inputs, "data1", a), add(inputs, "data2", b);
    add(actual, "data0", stored), add(expected, "data0", wanted);
  }
  Comparison compared(const ToleranceOptions& tolerance = {}) {
    VariableValues none;
    const ReferenceRunner ref(inputs, none, {.should_run_in_process = true});
    auto out = ref.compare_arrays(loaded.root, actual, expected, {.tolerance = tolerance});
    return std::move(out.value_or_throw()[0]);
  }
  static void add(Arrays& to, const char* name, const std::vector<float>& values) {
    NamedArray a{name, Array(dtypes::float32, {8})};
    std::ranges::copy(values, a.array.as<float>().begin());
    to.push_back(std::move(a));
  }
};

const std::vector<float> kThirds(8, 1.f / 3);

}  // namespace

TEST_CASE("ReferenceRunner leaves out an element that rounding decides and compares the others") {
  // For a = 1/3, devices may differ in whether a * 3 is exactly 1. For a = 0.5, no device may give another result.
  std::vector<float> a = kThirds;
  a[5] = 0.5f;
  std::vector<float> wanted(8, 1.f), stored(8, 1.f);
  wanted[5] = stored[5] = 0.f;
  std::string is_one = "((a*UOp.const(dtypes.float, 3.0))!=UOp.const(dtypes.float, 1.0))"
                       ".where(UOp.const(dtypes.float, 0.0), UOp.const(dtypes.float, 1.0))";
  stored[2] = 0.f;
  Comparison c = StoredKernel(is_one, a, a, stored, wanted).compared();
  CHECK(c.has_passed());
  CHECK(c.num_left_out == 1);
  stored[5] = 1.f;
  c = StoredKernel(is_one, a, a, stored, wanted).compared();
  CHECK(c.num_different == 1);
  CHECK(c.num_left_out == 1);
  REQUIRE(c.first_difference);
  CHECK(c.first_difference->flat_index == 5);
}

TEST_CASE("ReferenceRunner counts an element slightly beyond its tolerance as different, however tight the tolerance") {
  std::vector<float> wanted(8, 1.f), stored(8, 1.001f);
  CHECK(StoredKernel("a*b", kThirds, std::vector<float>(8, 3.f), stored, wanted).compared().num_different == 8);
  std::vector<float> next(8, std::nextafter(1.f, 2.f));
  CHECK(StoredKernel("a*b", kThirds, std::vector<float>(8, 3.f), next, wanted).compared().has_passed());
  CHECK(StoredKernel("a*b", kThirds, std::vector<float>(8, 3.f), next, wanted).compared({.ulp = 0}).num_different == 8);
}

TEST_CASE("ReferenceRunner leaves out casts of floats that do not fit the integer") {
  std::string f = "(a*UOp.const(dtypes.float, 100.0)).cast(dtypes.int8).cast(dtypes.float)";
  std::vector<float> a{0, 1, 2, 0.5f, 0, 0, 0, 3}, wanted{0, 100, -56, 50, 0, 0, 0, 44},
      stored{0, 100, 127, 50, 0, 0, 0, 127};
  Comparison c = StoredKernel(f, a, a, stored, wanted).compared();
  CHECK(c.has_passed());
  CHECK(c.num_left_out == 2);
  CHECK(c.text().find("2 of 8 left out: rounding, or what C leaves undefined, decides them") != std::string::npos);
}

TEST_CASE("ReferenceRunner accepts what rounding explains, and nothing worse") {
  // A sum of 512 bfloat16 stops growing at 256: adding 0.7 does not change it. The exact sum is 358.
  const std::string text =
      "r = UOp.range(512, 0, AxisType.REDUCE)\n"
      "a = UOp(Ops.DEFINE_GLOBAL, dtypes.bfloat16.ptr(512), (), 1).index(r)\n"
      "v = a.reduce(r, arg=Ops.ADD)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.bfloat16.ptr(1), (), 0).index(UOp.const(dtypes.index, 0), ptr=True)"
      ".store(v).sink()\n";
  InputGraph in = std::move(load_graph_text({}, InputKind::Pyrender, text, "test").value_or_throw());
  auto bf16 = [](std::vector<float> values) {
    Array out(dtypes::bfloat16, {int64_t(values.size())});
    for (size_t i = 0; i < values.size(); i++) out.as<uint16_t>()[i] = float_to_bf16_bits(values[i]);
    return out;
  };
  Arrays inputs, actual;
  inputs.push_back({"data0", bf16({0})}), inputs.push_back({"data1", bf16(std::vector<float>(512, 0.7f))});
  const VariableValues none;
  const ReferenceRunner ref(inputs, none, {.should_run_in_process = true});
  const Arrays expected = std::move(ref.run_reference(in.root).value_or_throw().outputs);
  for (auto [sum, is_rounding] : {std::pair(358.f, true), {10000.f, false}, {NAN, false}}) {
    actual.clear(), actual.push_back({"data0", bf16({sum})});
    auto compared = [&](bool accepts) {
      const CompareOptions options{.should_accept_rounding = accepts};
      return ref.compare_arrays(in.root, actual, expected, options, Recheck::Never).value_or_throw().at(0);
    };
    CAPTURE(sum);
    CHECK(compared(false).num_different == 1);
    CHECK(compared(true).has_passed() == is_rounding);
    CHECK((compared(true).num_explained_by_rounding == 1) == is_rounding);
  }
}

TEST_CASE("ReferenceRunner gives the differences that rounding explains their expected values if another one is left") {
  const std::string times_3 = "(a*UOp.const(dtypes.float, 3.0)+b)";
  std::vector<float> a(8, 10000.f / 3), b(8, -10000.f), stored(8), wanted(8);
  stored[0] = 0.0009765625f, stored[1] = INFINITY;
  const StoredKernel kernel(times_3, a, b, stored, wanted);
  const VariableValues none;
  const ReferenceRunner ref(kernel.inputs, none, {.should_run_in_process = true});
  for (float wrong : {INFINITY, 1.f}) {
    Arrays actual = copy_arrays(kernel.actual), settled;
    actual[0].array.as<float>()[1] = wrong;
    const CompareOptions options{.tolerance = {.rtol = 1e-4, .atol = 1e-5}, .should_accept_rounding = true};
    auto all = ref.compare_arrays(kernel.loaded.root, actual, kernel.expected, options, Recheck::Never, &settled);
    CHECK_FALSE(all.value_or_throw().at(0).has_passed());
    CHECK(settled[0].array.as<float>()[0] == 0);
    CHECK(settled[0].array.as<float>()[1] == wrong);
  }
}

TEST_CASE("expected_divergence names C's integer promotion where it changes a result") {
  Comparison differs{.num_different = 1};
  // returns true if expected_divergence() returns a reason for the expression `f` of two uchars a and b
  auto is_known = [&](const std::string& f, const char* renderer) {
    std::string text = "data = UOp(Ops.DEFINE_GLOBAL, dtypes.uchar.ptr(4), (), 1)\n"
                       "r = UOp.range(4, 0, AxisType.REDUCE)\n"
                       "a = data.index(UOp.const(dtypes.index, 0))\nb = data.index(UOp.const(dtypes.index, 1))\n"
                       "ast = " + f + ".sink()\n";
    InputGraph in = std::move(load_graph_text({}, InputKind::Pyrender, text, "test").value_or_throw());
    return !expected_divergence(in.root, {differs}, renderer).empty();
  };
  for (const char* f : {"(a+b).cast(dtypes.int)", "(a*b).cast(dtypes.half)", "((a+b)<a)", "((a+b)//b)",
                        "data.index(r).reduce(r, arg=Ops.MUL).cast(dtypes.half)",
                        "((a<b).where((a<<b), b)//b)", "(a+b).cast(dtypes.bool)", "((a*b^b)>>b)"}) {
    CHECK_MESSAGE(is_known(f, "CLANG"), f);
    CHECK_MESSAGE(!is_known(f, "LLVM"), f);
  }
  // No reason is known for these expressions: C truncates the result as REF does, or the result always fits its dtype.
  for (const char* f : {"(a+b)", "((a+b)+a).cast(dtypes.char)", "a.cast(dtypes.half)", "(a<b)",
                        "((a<b).where(a, b)//b)",
                        "(a.cast(dtypes.int)+b.cast(dtypes.int)).cast(dtypes.long)"})
    CHECK_MESSAGE(!is_known(f, "CLANG"), f);
}

}  // namespace tgc
