#include "lib/runtime/ref/ref.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "lib/runtime/ref/numeric.h"
#include "lib/runtime/ref/wmma.h"
#include "lib/text/pyrender.h"

namespace tgc {
namespace {

// `text` is pyrender text. Returns "" or the error message.
template <class... Buffers>
std::string run(const std::string& text, const std::map<std::string, int64_t>& variables, RefResult* result,
                std::vector<Buffers>&... buffers) {
  Graph g;
  auto ast = read_pyrender(g, text);
  REQUIRE_MESSAGE(ast.ok(), (ast ? "" : ast.diag().text()));
  auto program = RefProgram::make_from_graph(*ast, {.should_count_evaluations = true});
  if (!program) return program.diag().message;
  std::vector<RefBuffer> list;
  (list.push_back({int64_t(list.size()), buffers.data(), buffers.size() * sizeof(Buffers)}), ...);
  auto r = program->run(list, variables);
  if (!r) return r.diag().message;
  if (result) *result = *r;
  return "";
}

// Runs out[i] = f(a[i], b[i]) for a and b of one dtype. `f` is an expression of c2 (a[i]) and c3 (b[i]).
template <class Out, class In>
std::vector<Out> map2(const char* out_dtype, const char* dtype, const std::string& f, std::vector<In> a,
                      std::vector<In> b, UndefinedOpCounts* notes = nullptr) {
  std::string n = std::to_string(a.size()), d = dtype;
  std::string text = "i = UOp.range(" + n + ", 0, AxisType.LOOP)\n" + "c2 = UOp(Ops.DEFINE_GLOBAL, dtypes." + d +
                     ".ptr(" + n + "), (), 1).index(i)\n" + "c3 = UOp(Ops.DEFINE_GLOBAL, dtypes." + d + ".ptr(" + n +
                     "), (), 2).index(i)\n" + "ast = UOp(Ops.DEFINE_GLOBAL, dtypes." + out_dtype + ".ptr(" + n +
                     "), (), 0).index(i, ptr=True).store(" + f + ").end(i).sink()";
  std::vector<Out> out(a.size());
  RefResult result;
  REQUIRE(run(text, {}, &result, out, a, b) == "");
  if (notes) *notes = result.notes;
  return out;
}

template <class T>
std::vector<T> map(const char* dtype, const std::string& f, std::vector<T> a, std::vector<T> b,
                   UndefinedOpCounts* notes = nullptr) {
  return map2<T, T>(dtype, dtype, f, a, b, notes);
}

bool has(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

uint16_t half(double v) { return float_to_half_bits(v); }

TEST_CASE("REF: integers wrap; division truncates; division by zero gives 0") {
  using I = std::vector<int32_t>;
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min(), kMax = std::numeric_limits<int32_t>::max();
  CHECK(map<int32_t>("int", "c2+c3", {kMax, 1}, {1, 2}) == I{kMin, 3});
  CHECK(map<int32_t>("int", "c2*c3", {65536, -3}, {65536, 5}) == I{0, -15});
  UndefinedOpCounts notes;
  CHECK(map<int32_t>("int", "c2//c3", {-7, 7, kMin, 5}, {2, -2, -1, 0}, &notes) == I{-3, -3, kMin, 0});
  CHECK(notes.num_zero_divisions == 1);
  CHECK(map<int32_t>("int", "c2%c3", {-7, 7, 5}, {2, -2, 0}) == I{-1, 1, 5});
  CHECK(map<int8_t>("char", "c2+c3", {127}, {1}) == std::vector<int8_t>{-128});
  CHECK(map<uint16_t>("ushort", "c2*c3", {65535}, {65535}) == std::vector<uint16_t>{1});
  CHECK(map<uint64_t>("ulong", "c2//c3", {~uint64_t(0)}, {10}) == std::vector<uint64_t>{1844674407370955161u});
}

TEST_CASE("REF: integer powers are exact, then truncated; 0 to a negative power counts as a division by zero") {
  UndefinedOpCounts notes;
  const char* pow = "UOp(Ops.POW, dtypes.int, (c2, c3))";
  CHECK(map<int32_t>("int", pow, {3, 1, -1, -1, 2, -2, 0}, {4, -3, -3, -2, -1, -1, 0}, &notes) ==
        std::vector<int32_t>{81, 1, -1, 1, 0, 0, 1});
  CHECK(notes.num_zero_divisions == 0);
  CHECK(map<int32_t>("int", pow, {0, 5}, {-1, 1}, &notes) == std::vector<int32_t>{0, 5});
  CHECK(notes.num_zero_divisions == 1);
}

TEST_CASE("REF: a loop with a negative size does not run and is noted, inside and outside lanes") {
  for (const char* axes : {"i", "i, j"}) {
    std::string both = axes[1] ? "j = UOp.range(n, 1, AxisType.LOOP)\n" : "";
    std::vector<int32_t> out(16);
    RefResult result;
    std::string text = "n = UOp(Ops.DEFINE_VAR, dtypes.index, (), ('n', -4, 4))\n" + both +
                       "i = UOp.range(n, 0, AxisType.LOOP)\nast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(16), (), 0)"
                       ".index(i, ptr=True).store(UOp.const(dtypes.int, 7)).end(" + axes + ").sink()";
    REQUIRE(run(text, {{"n", 2}}, &result, out) == "");
    CHECK(std::ranges::count(out, 7) == 2);
    CHECK(result.notes.text() == "");
    std::ranges::fill(out, 0);
    REQUIRE(run(text, {{"n", -2}}, &result, out) == "");
    CHECK(std::ranges::count(out, 7) == 0);
    CHECK(result.notes.num_negative_sizes > 0);
    CHECK(has(result.notes.text(), "of a negative size"));
  }
}

TEST_CASE("REF: shifts by the width or more take the count modulo the width") {
  UndefinedOpCounts notes;
  CHECK(map<int32_t>("int", "c2<<c3", {1, 3, 1}, {4, 31, 32}, &notes) ==
        std::vector<int32_t>{16, std::numeric_limits<int32_t>::min(), 1});
  CHECK(notes.num_wide_shifts == 1);
  CHECK(map<int32_t>("int", "c2>>c3", {-8, 7, 1000}, {1, 1, 40}) == std::vector<int32_t>{-4, 3, 3});
  CHECK(map<uint32_t>("uint", "c2>>c3", {0x80000000u}, {31}) == std::vector<uint32_t>{1});
}

TEST_CASE("REF: bools add as or and multiply as and") {
  using B = std::vector<uint8_t>;
  CHECK(map<uint8_t>("bool", "c2+c3", {0, 0, 1, 1}, {0, 1, 0, 1}) == B{0, 1, 1, 1});
  CHECK(map<uint8_t>("bool", "c2*c3", {0, 0, 1, 1}, {0, 1, 0, 1}) == B{0, 0, 0, 1});
  CHECK(map<uint8_t>("bool", "c2<c3", {0, 0, 1, 1}, {0, 1, 0, 1}) == B{0, 1, 0, 0});
  CHECK(map<uint8_t>("bool", "c2", {2, 255}, {0, 0}) == B{1, 1});  // any nonzero byte is true
}

TEST_CASE("REF: half and bfloat16 round after every op") {
  // 2048 + 1 is halfway between two halfs and rounds to the even one, 2048
  CHECK(map<uint16_t>("half", "c2+c3+c3", {half(2048)}, {half(1)}) == std::vector<uint16_t>{half(2048)});
  CHECK(map<uint16_t>("half", "c2*c3", {half(300)}, {half(300)}) == std::vector<uint16_t>{half(INFINITY)});
  CHECK(map<uint16_t>("half", "c2*c3", {half(0x1p-14)}, {half(0.5)}) == std::vector<uint16_t>{half(0x1p-15)});
  CHECK(map<uint16_t>("bfloat16", "c2+c3", {float_to_bf16_bits(256)}, {float_to_bf16_bits(1)}) ==
        std::vector<uint16_t>{float_to_bf16_bits(256)});
  CHECK(map2<float, uint16_t>("float", "half", "(c2*c3).cast(dtypes.float)", {half(1.001)}, {half(1.001)})[0] ==
        float(half_bits_to_float(half(half_bits_to_float(half(1.001)) * half_bits_to_float(half(1.001))))));
}

TEST_CASE("REF: rounding to half agrees with the scalar conversion") {
  for (float v : {0.f, -0.f, 1.f, 1.00048828125f, 1.000732421875f, 65504.f, 65519.9f, 65520.f, 1e30f, 6e-8f, 2.98e-8f,
                  2.9802322e-8f, 6.1e-5f, 6.097555e-5f, -3.14159f, INFINITY}) {
    CHECK(ref::round_f16(v) == float(half_bits_to_float(float_to_half_bits(v))));
    CHECK(ref::bits_of_half(ref::round_f16(v)) == float_to_half_bits(v));
    CHECK(ref::round_bf16(v) == bf16_bits_to_float(float_to_bf16_bits(v)));
  }
  CHECK(std::isnan(ref::round_f16(NAN)));
  for (uint32_t bits = 0; bits < 0x10000; bits += 7) {
    float v = ref::half_of_bits(uint16_t(bits));
    if (std::isnan(v)) continue;
    REQUIRE(v == float(half_bits_to_float(uint16_t(bits))));
    REQUIRE(ref::bits_of_half(v) == bits);
  }
}

TEST_CASE("REF: casts keep the low bits of the truncated value") {
  UndefinedOpCounts notes;
  CHECK(map2<int32_t, float>("int", "float", "c2.cast(dtypes.int)", {-2.7f, 2.7f, 4294967298.f, NAN}, {0, 0, 0, 0},
                             &notes) == std::vector<int32_t>{-2, 2, 0, 0});
  CHECK(notes.num_out_of_range_casts == 2);
  CHECK(map2<uint8_t, float>("uchar", "float", "c2.cast(dtypes.uchar)", {-1.f, 255.9f, 257.f}, {0, 0, 0}) ==
        std::vector<uint8_t>{255, 255, 1});
  CHECK(map2<uint8_t, float>("bool", "float", "c2.cast(dtypes.bool)", {0.f, 0.25f, NAN}, {0, 0, 0}) ==
        std::vector<uint8_t>{0, 1, 1});
  CHECK(map2<uint16_t, double>("half", "double", "c2.cast(dtypes.half)", {1.00048828125000001, 1.0004882812500002},
                               {0, 0}) == std::vector<uint16_t>{0x3C00, 0x3C01});
  CHECK(map2<float, int64_t>("float", "long", "c2.cast(dtypes.float)", {(int64_t(1) << 60) + 1}, {0}) ==
        std::vector<float>{0x1p60f});
  CHECK(map2<uint32_t, float>("uint", "float", "c2.bitcast(dtypes.uint)", {1.f}, {0}) ==
        std::vector<uint32_t>{0x3F800000});
  CHECK(map2<uint16_t, uint16_t>("half", "ushort", "c2.bitcast(dtypes.half)", {0x3C00}, {0}) ==
        std::vector<uint16_t>{0x3C00});
  CHECK(map2<uint8_t, uint8_t>("bool", "uchar", "c2.bitcast(dtypes.bool)", {0, 1, 172}, {0, 0, 0}) ==
        std::vector<uint8_t>{0, 1, 1});
}

TEST_CASE("REF: maximum of NaNs, elementary functions and unrounded MULACC") {
  CHECK(map<float>("float", "c2.maximum(c3)", {1, NAN}, {2, 3})[0] == 2);
  CHECK(std::isnan(map<float>("float", "c2.maximum(c3)", {NAN}, {3})[0]));
  CHECK(map<float>("float", "c2.maximum(c3)", {3}, {NAN})[0] == 3);  // 3 < NAN is false
  CHECK(map<float>("float", "c2.exp2()", {3}, {0})[0] == 8);
  CHECK(map<double>("double", "c2.sin()", {1}, {0})[0] == std::sin(1.0));
  CHECK(map<float>("float", "c2.reciprocal()", {-0.f}, {0})[0] == -INFINITY);
  CHECK(map<float>("float", "UOp(Ops.MULACC, dtypes.float, (c2, c2, c3))", {1.0001f}, {-1.0002f})[0] ==
        float(double(1.0001f) * double(1.0001f) - double(1.0002f)));
}

TEST_CASE("REF: threefry gives Random123's known answers") {
  // expected bits from Random123's threefry2x32 with 20 rounds
  CHECK(map<uint64_t>("ulong", "c2.threefry(c3)", {0, ~uint64_t(0), 0x85A308D3243F6A88},
                      {0, ~uint64_t(0), 0x0370734413198A2E}) ==
        std::vector<uint64_t>{0x99BA4EFE6B200159, 0xBB002BE71CB996FC, 0x483DF7A0C4923A9C});
}

TEST_CASE("REF: a reduction adds elements in order, also in lanes") {
  // the sum starts with 1e8, which absorbs each added 1
  std::vector<float> in(2000, 1.0f), out(1);
  in[0] = 1e8f, in[1000] = -1e8f;
  std::string sum =
      "i = UOp.range(2000, 0, AxisType.REDUCE)\n"
      "c = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(2000), (), 1).index(i)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), 0).index(UOp.const(dtypes.index, 0), "
      "ptr=True).store(c.reduce(i, arg=Ops.ADD)).sink()";
  REQUIRE(run(sum, {}, nullptr, out, in) == "");
  CHECK(out[0] == 999);

  // from 2048 on, adding 1 has no effect
  std::vector<uint16_t> ones(3000, half(1)), total(1);
  std::string half_sum =
      "i = UOp.range(3000, 0, AxisType.REDUCE)\n"
      "c = UOp(Ops.DEFINE_GLOBAL, dtypes.half.ptr(3000), (), 1).index(i)\n"
      "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.half.ptr(1), (), 0).index(UOp.const(dtypes.index, 0), "
      "ptr=True).store(c.reduce(i, arg=Ops.ADD)).sink()";
  REQUIRE(run(half_sum, {}, nullptr, total, ones) == "");
  CHECK(total[0] == half(2048));
}

TEST_CASE("REF: gemm with lanes over the outputs is correct") {
  std::vector<int32_t> c(6 * 5), a(6 * 4), b(4 * 5);
  for (size_t i = 0; i < a.size(); i++) a[i] = int32_t(i * 7 % 11) - 5;
  for (size_t i = 0; i < b.size(); i++) b[i] = int32_t(i * 5 % 13) - 6;
  REQUIRE(run("i = UOp.range(6, 0, AxisType.LOOP)\nj = UOp.range(5, 1, AxisType.LOOP)\n"
              "k = UOp.range(4, 2, AxisType.REDUCE)\n"
              "a = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(24), (), 1).index(i*UOp.const(dtypes.index, 4)+k)\n"
              "b = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(20), (), 2).index(k*UOp.const(dtypes.index, 5)+j)\n"
              "s = (a*b).reduce(k, arg=Ops.ADD)\n"
              "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(30), (), 0).index(i*UOp.const(dtypes.index, "
              "5)+j, ptr=True).store(s).end(i, j).sink()",
              {}, nullptr, c, a, b) == "");
  for (size_t i = 0; i < 6; i++)
    for (size_t j = 0; j < 5; j++) {
      int32_t sum = 0;
      for (size_t k = 0; k < 4; k++) sum += a[i * 4 + k] * b[k * 5 + j];
      CHECK(c[i * 5 + j] == sum);
    }
}

constexpr const char* kCopy =
    "i = UOp.range(8, 3, AxisType.LOOP)\nn = UOp.variable('n', 0, 100)\n"
    "c = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 1).index(i+n)\n"
    "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), 0).index(i, ptr=True).store(c).end(i).sink()";

TEST_CASE("REF: an access out of bounds is an error with its position") {
  std::vector<int32_t> out(8), in(4);
  CHECK(run(kCopy, {{"n", 0}}, nullptr, out, in) == "out of bounds: load from data1[4], which has 4 elements, at r3=4");
  CHECK(run(kCopy, {{"n", 50}}, nullptr, out, in).find("data1[50]") != std::string::npos);
}

TEST_CASE("REF: a gate with any nonzero bits is true, and gated accesses are checked") {
  std::vector<int32_t> out(4), in(4);
  std::vector<uint8_t> bits{0, 2, 0, 172};
  auto gated = [&](const std::string& at) {
    return run("i = UOp.range(4, 0, AxisType.LOOP)\n"
               "g = UOp(Ops.DEFINE_GLOBAL, dtypes.uchar.ptr(4), (), 2).index(i).bitcast(dtypes.bool)\n"
               "c = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 1).index(g.where(" + at +
                   ", UOp.const(dtypes.index, Invalid)))\n"
                   "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 0).index(i, ptr=True).store(c).end(i).sink()",
               {}, nullptr, out, in, bits);
  };
  CHECK(gated("i") == "");
  CHECK(gated("i+100").starts_with("out of bounds: load from data1[101], which has 4 elements, at r0=1"));
  CHECK(gated("i*8+1000000").starts_with("out of bounds: load from data1[1000008]"));
}

TEST_CASE("REF: loading at an invalid index of a BUFFERIZE gives 0") {
  std::vector<int32_t> out(6, -1), in{5, 6, 7, 8};
  CHECK(run("i = UOp.range(6, 0, AxisType.LOOP)\n"
            "j = UOp.range(4, 1, AxisType.LOOP)\n"
            "v = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 1).index(j)\n"
            "b = UOp(Ops.BUFFERIZE, dtypes.int, (v, j), BufferizeOpts(device=None, addrspace=AddrSpace.LOCAL))\n"
            "c = b.index((i<4).where(i, UOp.const(dtypes.index, Invalid)))\n"
            "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(6), (), 0).index(i, ptr=True).store(c).end(i).sink()",
            {}, nullptr, out, in) == "");
  CHECK(out == std::vector<int32_t>{5, 6, 7, 8, 0, 0});
}

TEST_CASE("REF: missing variables and buffers are reported before the kernel runs") {
  std::vector<int32_t> out(8, 7), in(4), less(3);
  CHECK(run(kCopy, {}, nullptr, out, in) == "the variable 'n' has no value");
  CHECK(run(kCopy, {{"n", 0}}, nullptr, out) == "there is no buffer for data1");
  CHECK(run(kCopy, {{"n", 0}}, nullptr, out, less) == "data1 has 3 elements, but the kernel's has 4");
  CHECK(out[0] == 7);
}

TEST_CASE("REF: at an invalid index, a load gives 0 and a store does nothing") {
  std::vector<int32_t> out(8, -1), in{10, 11, 12, 13};
  REQUIRE(run("i = UOp.range(8, 0, AxisType.LOOP)\nok = i<UOp.const(dtypes.index, 4)\n"
              "bad = UOp.const(dtypes.index, Invalid)\n"
              "c = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 1).index(ok.where(i, bad))\n"
              "o = (i<UOp.const(dtypes.index, 6)).where(i, bad)+UOp.const(dtypes.index, 1)\n"
              "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), 0).index(o, ptr=True).store(c).end(i).sink()",
              {}, nullptr, out, in) == "");
  CHECK(out == std::vector<int32_t>{-1, 10, 11, 12, 13, 0, 0, -1});
}

TEST_CASE("REF: a loop's size may depend on another range") {
  std::vector<int32_t> out(6);
  REQUIRE(run("i = UOp.range(6, 0, AxisType.LOOP)\nj = UOp.range(i, 1, AxisType.REDUCE)\n"
              "s = j.cast(dtypes.int).reduce(j, arg=Ops.ADD)\n"
              "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(6), (), 0).index(i, ptr=True).store(s).end(i).sink()",
              {}, nullptr, out) == "");
  CHECK(out == std::vector<int32_t>{0, 0, 1, 3, 6, 10});
}

TEST_CASE("REF: a workgroup shares local memory and synchronizes at barriers; registers are per lane") {
  // each group of 4 threads reverses its part of `in` and adds it to `in`
  std::vector<int32_t> out(12), in(12);
  for (size_t i = 0; i < in.size(); i++) in[i] = int32_t(i * i);
  REQUIRE(
      run("g = UOp.special(3, 'gidx0', dtype=dtypes.int)\nl = UOp.special(4, 'lidx0', dtype=dtypes.int)\n"
          "at = g*UOp.const(dtypes.int, 4)+l\n"
          "v = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(12), (), 1).index(at, ptr=True).load()\n"
          "t = UOp(Ops.DEFINE_LOCAL, dtypes.int.ptr(4, AddrSpace.LOCAL), (), 0)\n"
          "r = UOp(Ops.DEFINE_REG, dtypes.int.ptr(1, AddrSpace.REG), (), 0)\n"
          "zero = UOp.const(dtypes.int, 0)\n"
          "s = t.after(t.index(l, ptr=True).store(v).barrier()).index(UOp.const(dtypes.int, 3)-l, ptr=True).load()\n"
          "k = r.after(r.index(zero, ptr=True).store(v)).index(zero, ptr=True).load()\n"
          "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(12), (), 0).index(at, ptr=True).store(s+k).sink()",
          {}, nullptr, out, in) == "");
  for (size_t i = 0; i < 12; i++) CHECK(out[i] == in[i] + in[i / 4 * 4 + 3 - i % 4]);
}

TEST_CASE("REF: local memory filled in several loops is shared, with one END or one END per loop") {
  for (const char* ends : {".end(i, j)", ".end(j).end(i)"}) {
    std::vector<int32_t> out(64), in(64);
    for (size_t i = 0; i < in.size(); i++) in[i] = int32_t(i * i);
    REQUIRE(run("i = UOp.range(16, 0, AxisType.LOOP, dtype=dtypes.int)\n"
                "j = UOp.range(4, 1, AxisType.LOOP, dtype=dtypes.int)\n"
                "k = UOp.range(64, 2, AxisType.LOOP, dtype=dtypes.int)\n"
                "at = i*UOp.const(dtypes.int, 4)+j\n"
                "v = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(64), (), 1).index(at, ptr=True).load()\n"
                "t = UOp(Ops.DEFINE_LOCAL, dtypes.int.ptr(64, AddrSpace.LOCAL), (), 0)\n"
                "filled = t.index(at, ptr=True).store(v)" + std::string(ends) + "\n"
                "s = t.after(filled.barrier()).index(UOp.const(dtypes.int, 63)-k, ptr=True).load()\n"
                "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(64), (), 0).index(k, ptr=True).store(s).end(k).sink()",
                {}, nullptr, out, in) == "");
    for (size_t i = 0; i < 64; i++) CHECK(out[i] == in[63 - i]);
  }
}

TEST_CASE("REF: each thread's register starts with the value from outside the threads") {
  // out[i] is the sum of in[4 * i] to in[4 * i + 3]
  for (const char* threads : {"LOCAL", "GROUP_REDUCE"}) {
    std::vector<int32_t> out(8), in(32);
    for (size_t i = 0; i < in.size(); i++) in[i] = int32_t(i * i);
    REQUIRE(run("i = UOp.range(8, 0, AxisType." + std::string(threads) + ")\n"
                "r = UOp.range(4, 1, AxisType.REDUCE)\n"
                "zero = UOp.const(dtypes.int, 0)\n"
                "a = UOp(Ops.DEFINE_REG, dtypes.int.ptr(1, AddrSpace.REG), (), 0)\n"
                "begun = a.after(a.index(zero, ptr=True).store(zero), r).index(zero, ptr=True).load()\n"
                "v = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(32), (), 1).index(i*4+r).load()\n"
                "sum = a.after(a.index(zero, ptr=True).store(begun+v).end(r)).index(zero, ptr=True).load()\n"
                "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(8), (), 0).index(i, ptr=True).store(sum).end(i).sink()",
                {}, nullptr, out, in) == "");
    for (size_t i = 0; i < 8; i++) CHECK(out[i] == in[4 * i] + in[4 * i + 1] + in[4 * i + 2] + in[4 * i + 3]);
  }
}

TEST_CASE("REF: atomic additions to one element from many iterations are all performed") {
  std::vector<float> out(2);
  const std::string add = "'__atomic_fetch_add({0}, {1}, __ATOMIC_RELAXED);'";
  CHECK(run("i = UOp.range(8, 0, AxisType.LOOP)\n"
            "at = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(2), (), 0).index(i%2, ptr=True)\n"
            "ast = UOp(Ops.CUSTOM, dtypes.void, (at, UOp.const(dtypes.float, 1.5)), " + add + ").end(i).sink()",
            {}, nullptr, out) == "");
  CHECK(out == std::vector<float>{6, 6});
  CHECK(run("i = UOp.range(8, 0, AxisType.LOOP)\n"
            "at = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(2), (), 0).index(UOp.const(dtypes.index, 1), ptr=True)\n"
            "ast = UOp(Ops.CUSTOM, dtypes.void, (at, UOp.const(dtypes.float, 1.5)), " + add + ").end(i).sink()",
            {}, nullptr, out)
            .find("does not depend on a loop") != std::string::npos);
}

TEST_CASE("REF: nodes without a meaning in a kernel are refused by name") {
  std::vector<float> out(1);
  CHECK(run("ast = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), 0).index(UOp.const(dtypes.index, 0), "
            "ptr=True).store(UOp(Ops.CUSTOM, dtypes.float, (), 'rand()')).sink()",
            {}, nullptr, out)
            .find("Ops.CUSTOM") != std::string::npos);
  CHECK(
      run("i = UOp.range(4, 0, AxisType.LOOP)\n"
          "at = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(1), (), 0).index(UOp.const(dtypes.index, 9), ptr=True)\n"
          "ast = at.store(UOp.const(dtypes.float, 1.0)).end(i).sink()",
          {}, nullptr, out) == "out of bounds: store to data0[9], which has 1 element");
}

// A wrong pass can make malformed nodes, which the reader would refuse.
TEST_CASE("REF: malformed nodes are refused") {
  Graph g;
  UOp at0 = g.constant(dtypes::index, 0), yes = g.constant(dtypes::bool_, true);
  UOp k = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(4), {}, 0), i = g.range(4, 0, AxisType::LOOP);
  auto refusal = [&](UOp stored) {
    auto program = RefProgram::make_from_graph(g.sink({stored}));
    return program ? "" : program.diag().message;
  };
  auto store = [&](std::vector<UOp> index, UOp value) {
    return g.node(Op::INDEX, k.dtype(), index).store(value).end(i);
  };
  UOp one = g.constant(dtypes::int32, 1);
  CHECK(refusal(store({k, i}, one)) == "");
  CHECK(refusal(store({k, i, yes}, one)) == "");
  CHECK(has(refusal(store({k}, one)), "it has no index"));
  CHECK(has(refusal(store({k, at0, i}, one)), "its gate is not one bool"));
  UOp nothing = g.node(Op::LOAD, dtypes::void_, g.node(Op::INDEX, k.dtype(), {k, i}));
  CHECK(has(refusal(g.node(Op::STORE, dtypes::void_, {g.node(Op::INDEX, k.dtype(), {k, i}), nothing}).end(i)),
            "REF cannot load or store elements without a size"));
  UOp of_void = g.node(Op::DEFINE_GLOBAL, dtypes::void_.ptr(4), {}, 1);
  UOp its_address = g.node(Op::CAST, dtypes::int64, {g.node(Op::INDEX, of_void.dtype(), {of_void, i})});
  CHECK(has(refusal(store({k, i}, its_address.cast(dtypes::int32))), "data1 has elements without a size"));
  // operands that have fewer elements than the op
  auto vector = [&](size_t n) {
    std::vector<UOp> elements(n, i.cast(dtypes::int32));
    return g.node(Op::VECTORIZE, dtypes::int32.vec(int(n)), elements);
  };
  UOp ok = g.node(Op::CMPLT, dtypes::bool_, {i, g.constant(dtypes::index, 2)});
  UOp at = g.node(Op::INDEX, k.dtype(), {k, i});
  auto refused = [&](UOp value) { return has(refusal(store({k, i}, value)), "an operand of 2 elements"); };
  CHECK(refused(g.node(Op::WHERE, dtypes::int32.vec(4), {ok, vector(4), vector(2)})));
  CHECK(refused(g.node(Op::LOAD, dtypes::int32.vec(4), {at, vector(2)})));
  CHECK(has(refusal(store({k, i}, g.node(Op::WHERE, k.dtype(), {ok, at, at}))), "it chooses between pointers"));
  CHECK(has(refusal(store({k, i}, k)), "it stores a pointer"));
  CHECK(has(refusal(store({k, i}, g.node(Op::NEG, dtypes::int32, {k}))), "arithmetic on a pointer"));
  CHECK(has(refusal(store({k, i}, g.node(Op::BITCAST, dtypes::int32, {k}))), "a pointer where a number is needed"));
}

TEST_CASE("REF: the time limit ends a range with too many iterations, of any axis type") {
  Graph g;
  UOp k = g.node(Op::DEFINE_GLOBAL, dtypes::int32.ptr(1), {}, 0), at = g.constant(dtypes::index, 0);
  for (AxisType type : {AxisType::LOOP, AxisType::GLOBAL, AxisType::LOCAL, AxisType::REDUCE}) {
    UOp i = g.range(INT64_MAX, 0, type);
    UOp sink = g.sink({g.node(Op::INDEX, k.dtype(), {k, at}).store(i.cast(dtypes::int32)).end(i)});
    auto program = RefProgram::make_from_graph(sink);
    if (!program) continue;
    std::vector<int32_t> out(1);
    RefBuffer buffer{0, out.data(), 4};
    auto ran = program->run({&buffer, 1}, {}, 0.1);
    REQUIRE(!ran);
    CHECK(ran.diag().message == "did not end within 0.1 seconds");
  }
}

TEST_CASE("REF: evaluations are counted per lane") {
  std::vector<int32_t> out(100), a(100), b(100);
  RefResult result;
  REQUIRE(run("i = UOp.range(100, 0, AxisType.LOOP)\na = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(100), (), 1).index(i)\n"
              "ast = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(100), (), 0).index(i, ptr=True).store(a+a).end(i).sink()",
              {}, &result, out, a, b) == "");
  CHECK(result.num_evaluations == 4 * 100);  // two INDEX, an ADD and a STORE for each of 100 elements
}

TEST_CASE("REF: tensor core layouts place the elements of A, B and C in distinct registers and fill all of C") {
  using namespace ref;
  const WmmaKey keys[] = {
      {"CUDA", 32, 8, 16, 16, dtypes::float16, 8, 4, 4},  {"CUDA", 32, 8, 16, 32, dtypes::fp8e4m3, 16, 8, 4},
      {"CUDA", 32, 8, 16, 8, dtypes::float16, 4, 2, 4},   {"CUDA", 32, 8, 16, 8, dtypes::float32, 4, 2, 4},
      {"METAL", 32, 8, 8, 8, dtypes::float32, 2, 2, 2},   {"AMD", 32, 16, 16, 16, dtypes::float16, 16, 16, 8},
      {"AMD", 32, 16, 16, 16, dtypes::float16, 8, 8, 8},  {"AMD", 64, 16, 16, 16, dtypes::float16, 4, 4, 4},
      {"INTEL", 8, 8, 8, 16, dtypes::float16, 16, 16, 8}, {"CPU", 1, 16, 16, 1, dtypes::float32, 16, 16, 256},
  };
  for (const WmmaKey& key : keys) {
    CAPTURE(key.device);
    const WmmaLayout* l = find_wmma_layout(key);
    auto distinct = [&](const std::vector<WmmaLayout::ElementLocation>& places) {
      std::vector<bool> seen(size_t(key.threads) * 256);
      for (auto p : places) {
        CHECK_FALSE(seen[size_t(p.element * key.threads + p.lane)]);
        seen[size_t(p.element * key.threads + p.lane)] = true;
      }
    };
    distinct(l->a), distinct(l->b), distinct(l->c);
    CHECK(l->c.size() == key.elements_c * size_t(key.threads));
  }
  CHECK_THROWS_AS(find_wmma_layout({"CUDA", 32, 8, 16, 64, dtypes::float16, 8, 4, 4}), Failure);
}

}  // namespace
}  // namespace tgc
