#include <bit>
#include <cmath>
#include <random>

#include "lib/emulate/numbers.h"
#include "lib/emulate/cuda/testing.h"

namespace tgc::ptx {
namespace {

// Sets %rd8 to the address of the 4-byte element p0[tid].
const std::string kElement = "mul.wide.u32 %rd7, %r0, 4;\nadd.s64 %rd8, %rd0, %rd7;\n";

bool contains(const std::string& text, std::string_view part) {
  bool found = text.find(part) != text.npos;
  if (!found) MESSAGE(text);
  return found;
}

// Runs instructions in one thread, with a, b and c in %r1, %r2 and %r3. Returns %r9.
uint32_t word(const std::string& instruction, uint32_t a, uint32_t b = 0, uint32_t c = 0) {
  std::vector<uint32_t> in{a, b, c, 0};
  auto ran = run_kernel_text(
      kernel_text(
          1,
          "ld.global.u32 %r1, [%rd0];\nld.global.u32 %r2, [%rd0+4];\nld.global.u32 %r3, [%rd0+8];\n"
          "mov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\nmov.b32 %f3, %r3;\ncvt.u16.u32 %h1, %r1;\ncvt.u16.u32 %h2, %r2;\n" +
              instruction + "\nst.global.u32 [%rd0+12], %r9;"),
      {.block = {1, 1, 1}}, in);
  CHECK(ran.error == "");
  return in[3];
}
float real(const std::string& instruction, float a, float b = 0, float c = 0) {
  auto bits = [](float x) { return std::bit_cast<uint32_t>(x); };
  return std::bit_cast<float>(word(instruction + " mov.b32 %r9, %f9;", bits(a), bits(b), bits(c)));
}

}  // namespace

TEST_CASE("PTX emulator: integer instructions wrap, shift, extract and divide as PTX specifies") {
  CHECK(word("add.s32 %r9, %r1, %r2;", 0x7fffffff, 1) == 0x80000000);
  CHECK(word("add.sat.s32 %r9, %r1, %r2;", 0x7fffffff, 1) == 0x7fffffff);
  CHECK(word("mul.hi.s32 %r9, %r1, %r2;", uint32_t(-3), 5) == 0xffffffff);
  CHECK(word("mul.hi.u32 %r9, %r1, %r2;", uint32_t(-3), 5) == 4);
  CHECK(word("shl.b32 %r9, %r1, %r2;", 1, 32) == 0);
  CHECK(word("shr.s32 %r9, %r1, %r2;", uint32_t(-8), 99) == 0xffffffff);
  CHECK(word("shr.u32 %r9, %r1, %r2;", uint32_t(-8), 32) == 0);
  CHECK(word("div.s32 %r9, %r1, %r2;", uint32_t(-7), 2) == uint32_t(-3));
  CHECK(word("rem.s32 %r9, %r1, %r2;", uint32_t(-7), 2) == uint32_t(-1));
  CHECK(word("div.s32 %r9, %r1, %r2;", 0x80000000, uint32_t(-1)) == 0x80000000);
  CHECK(word("div.u32 %r9, %r1, %r2;", 7, 0) == UINT32_MAX);
  CHECK(word("bfe.s32 %r9, %r1, 4, 4;", 0xf0) == 0xffffffff);
  CHECK(word("bfe.u32 %r9, %r1, 28, 8;", 0xf0000000) == 15);
  CHECK(word("bfi.b32 %r9, %r1, %r2, 8, 4;", 0xff, 0x12340000) == 0x12340f00);
  CHECK(word("prmt.b32 %r9, %r1, %r2, 0x5140;", 0x33221100, 0x77665544) == 0x55114400);
  CHECK(word("prmt.b32 %r9, %r1, 0, 0x8;", 0x80) == 0x808080ff);
  CHECK(word("lop3.b32 %r9, %r1, %r2, %r3, 0x96;", 0xf0, 0xcc, 0xaa) == (0xf0 ^ 0xcc ^ 0xaa));
  CHECK(word("shf.l.wrap.b32 %r9, %r1, %r2, 36;", 0x80000000, 1) == 0x18);
  CHECK(word("shf.r.clamp.b32 %r9, %r1, %r2, 40;", 1, 0x77) == 0x77);
  CHECK(word("popc.b32 %r9, %r1;", 0xf0f) == 8);
  CHECK(word("clz.b32 %r9, %r1;", 1) == 31);
  CHECK(word("brev.b32 %r9, %r1;", 1) == 0x80000000);
  CHECK(word("dp4a.s32.s32 %r9, %r1, %r2, %r3;", 0x01ff02fe, 0x01010101, 10) == 10);
  CHECK(word("mad.lo.s16 %h3, %h1, %h2, 7; cvt.u32.u16 %r9, %h3;", 300, 300) == uint16_t(300 * 300 + 7));
}

TEST_CASE("PTX emulator: every lane loads the same parameter bytes, for every load width") {
  for (auto [type, mask] : {std::pair("u8", "0xff"), std::pair("u16", "0xffff")}) {
    CAPTURE(type);
    std::vector<uint32_t> out(32, 7);
    auto ran = run_kernel_text(kernel_text(1, kElement + "ld.param." + type + " %h1, [p0+2];\ncvt.u32.u16 %r1, %h1;\n" +
                                           "shr.u64 %rd1, %rd0, 16;\ncvt.u32.u64 %r2, %rd1;\nand.b32 %r2, %r2, " +
                                           mask + ";\nsub.u32 %r3, %r1, %r2;\nst.global.u32 [%rd8], %r3;"),
                        {}, out);
    CHECK(ran.error == "");
    CHECK(out == std::vector<uint32_t>(32, 0));
  }
}

TEST_CASE("PTX emulator: floats round once, NaN is canonical, -0 is less than +0, .ftz flushes subnormals") {
  CHECK(real("fma.rn.f32 %f9, %f1, %f2, %f3;", 1 + 0x1p-12f, 1 - 0x1p-12f, -1) == -0x1p-24f);
  CHECK(real("add.rz.f32 %f9, %f1, %f2;", 1, 0x1.8p-24f) == 1);
  CHECK(real("add.rp.f32 %f9, %f1, %f2;", 1, 0x1p-30f) == 1 + 0x1p-23f);
  CHECK(real("add.rn.f32 %f9, %f1, %f2;", 1, 0x1p-30f) == 1);
  CHECK(std::signbit(real("min.f32 %f9, %f1, %f2;", 0.0f, -0.0f)));
  CHECK_FALSE(std::signbit(real("max.f32 %f9, %f1, %f2;", -0.0f, 0.0f)));
  CHECK(real("max.f32 %f9, %f1, %f2;", NAN, 3) == 3);
  CHECK(std::isnan(real("max.NaN.f32 %f9, %f1, %f2;", NAN, 3)));
  CHECK(word("sub.f32 %f9, %f1, %f2; mov.b32 %r9, %f9;", 0x7f800000, 0x7f800000) == 0x7fffffff);
  CHECK(real("mul.ftz.f32 %f9, %f1, %f2;", 0x1p-126f, 0.5f) == 0);
  CHECK(real("mul.f32 %f9, %f1, %f2;", 0x1p-126f, 0.5f) == 0x1p-127f);
  CHECK(real("add.sat.f32 %f9, %f1, %f2;", 2, 3) == 1);
  CHECK(real("ex2.approx.f32 %f9, %f1;", 10) == 1024);
  // compares pairs of halves: 1 < 2 in the lower halves, 3 < 2 in the upper halves
  CHECK(word("setp.lt.f16x2 %p1|%p2, %r1, %r2; selp.u32 %r4, 1, 0, %p1; selp.u32 %r5, 2, 0, %p2; or.b32 %r9, %r4, %r5;",
             0x42003c00, 0x40004000) == 1);
  CHECK(real("copysign.f32 %f9, %f1, %f2;", -1, 3) == -3);
}

TEST_CASE("PTX emulator: cvt rounds in its rounding mode and saturates") {
  auto to_int = [](const char* cvt, float x) {
    return int32_t(word(std::string(cvt) + " %r9, %f1;", std::bit_cast<uint32_t>(x)));
  };
  CHECK(to_int("cvt.rzi.s32.f32", -2.9f) == -2);
  CHECK(to_int("cvt.rni.s32.f32", 2.5f) == 2);
  CHECK(to_int("cvt.rmi.s32.f32", -2.1f) == -3);
  CHECK(to_int("cvt.rpi.s32.f32", 2.1f) == 3);
  CHECK(to_int("cvt.rzi.s32.f32", 3e9f) == INT32_MAX);
  CHECK(to_int("cvt.rzi.s32.f32", -3e9f) == INT32_MIN);
  CHECK(to_int("cvt.rzi.s32.f32", NAN) == 0);
  CHECK(uint32_t(to_int("cvt.rzi.u32.f32", -1)) == 0);
  CHECK(word("cvt.s8.s32 %r9, %r1;", 0x1ff) == 0xffffffff);
  CHECK(word("cvt.u8.s32 %r9, %r1;", 0x1ff) == 0xff);
  CHECK(word("cvt.sat.u8.s32 %r9, %r1;", 0x1ff) == 0xff);
  CHECK(word("cvt.sat.s8.s32 %r9, %r1;", uint32_t(-300)) == uint32_t(-128));
  CHECK(word("cvt.rn.bf16.f32 %h3, %f1; cvt.u32.u16 %r9, %h3;", 0x3f808000) == 0x3f80);
  CHECK(word("cvt.rn.bf16.f32 %h3, %f1; cvt.u32.u16 %r9, %h3;", 0x3f818000) == 0x3f82);
  CHECK(word("cvt.rz.f16.f32 %h3, %f1; cvt.u32.u16 %r9, %h3;", std::bit_cast<uint32_t>(65519.0f)) == 0x7bff);
  CHECK(word("cvt.rn.f16x2.f32 %r9, %f1, %f2;", 0x3f800000, 0x40000000) == 0x3c004000);
  CHECK(word("cvt.rn.satfinite.e4m3x2.f32 %h3, %f1, %f2; cvt.u32.u16 %r9, %h3;", 0x3f800000, 0x7f000000) == 0x387e);
  CHECK(word("cvt.rn.satfinite.e5m2x2.f32 %h3, %f1, %f2; cvt.u32.u16 %r9, %h3;", 0x3f800000, 0xff000000) == 0x3cfb);
  CHECK(word("cvt.rn.f16x2.e4m3x2 %r9, %h1;", 0x387e) == 0x3c005f00);
}

TEST_CASE("PTX emulator: small floats round to the nearest value, ties to even") {
  // adjacent values survive decode and encode, and values between them round correctly
  for (const FloatLayout& f : {kHalfLayout, kBfloatLayout, kE4m3, kE5m2}) {
    uint32_t count = 1u << (f.exponent_bits + f.mantissa_bits), wrong = 0;
    for (uint32_t n = 0; n + 1 < count; n++) {
      double a = decode_float(n, f), b = decode_float(n + 1, f);
      if (!std::isfinite(a) || !std::isfinite(b)) continue;
      wrong += encode_float(a, f) != n || encode_float(-a, f) != (n | count);
      wrong += encode_float((a + b) / 2, f) != (n & 1 ? n + 1 : n);
      wrong += encode_float(a + (b - a) * 0.49, f) != n || encode_float(a + (b - a) * 0.51, f) != n + 1;
      wrong += encode_float(a + (b - a) * 0.9, f, Rounding::Zero) != n ||
               encode_float(a + (b - a) * 0.1, f, Rounding::Up) != n + 1;
      wrong += encode_float(-(a + (b - a) * 0.1), f, Rounding::Down) != ((n + 1) | count);
    }
    CHECK(wrong == 0);
  }
  std::mt19937 random(1);
  for (int n = 0; n < 20000; n++) {
    float x = std::bit_cast<float>(uint32_t(random()));
    if (x != x) continue;
    CHECK(float_to_half(x) == encode_float(double(x), kHalfLayout));
    CHECK(float_to_bf16(x) == encode_float(double(x), kBfloatLayout));
  }
}

TEST_CASE("PTX emulator: lanes diverge, loop different numbers of times and reconverge") {
  // thread i stores the sum of 1 to i, plus 1000 if i is odd; thread 7 returns before it stores
  std::vector<uint32_t> out(64, 5);
  auto ran = run_kernel_text(kernel_text(1, kElement + R"(
    setp.eq.u32 %p3, %r0, 7;
    @%p3 ret;
    mov.u32 %r1, 0;  mov.u32 %r2, 0;
    bra TEST;
    LOOP: add.u32 %r2, %r2, 1;  add.u32 %r1, %r1, %r2;
    TEST: setp.lt.u32 %p1, %r2, %r0;
    @%p1 bra LOOP;
    and.b32 %r3, %r0, 1;  setp.eq.u32 %p2, %r3, 0;
    @%p2 bra EVEN;
    add.u32 %r1, %r1, 1000;
    bra DONE;
    EVEN: add.u32 %r1, %r1, 0;
    DONE: st.global.u32 [%rd8], %r1;)"),
                      {.block = {64, 1, 1}}, out);
  CHECK(ran.error == "");
  for (uint32_t i = 0; i < 64; i++) CHECK(out[i] == (i == 7 ? 5 : i * (i + 1) / 2 + (i % 2 ? 1000 : 0)));
}

TEST_CASE("PTX emulator: brx.idx jumps through a table") {
  std::vector<uint32_t> out(32);
  auto ran = run_kernel_text(kernel_text(1, kElement + R"(
    rem.u32 %r1, %r0, 3;
    T: .branchtargets A, B, C;
    brx.idx %r1, T;
    A: mov.u32 %r2, 10; bra END;
    B: mov.u32 %r2, 11; bra END;
    C: mov.u32 %r2, 12;
    END: add.u32 %r2, %r2, %r0;
    st.global.u32 [%rd8], %r2;)"),
                      {}, out);
  CHECK(ran.error == "");
  for (uint32_t i = 0; i < 32; i++) CHECK(out[i] == 10 + i % 3 + i);
}

TEST_CASE("PTX emulator: small blocks that share a warp keep their own block and thread numbers") {
  std::vector<uint32_t> out(40);
  auto ran = run_kernel_text(kernel_text(1, R"(
    mov.u32 %r1, %ctaid.x;  mov.u32 %r2, %ntid.x;  mad.lo.u32 %r3, %r1, %r2, %r0;
    mul.wide.u32 %rd7, %r3, 4;  add.s64 %rd8, %rd0, %rd7;
    mad.lo.u32 %r4, %r1, 100, %r0;
    st.global.u32 [%rd8], %r4;)"),
                      {.grid = {8, 1, 1}, .block = {5, 1, 1}}, out);
  CHECK(ran.error == "");
  for (uint32_t i = 0; i < 40; i++) CHECK(out[i] == i / 5 * 100 + i % 5);
}

// Thread i stores i to shared memory, runs `barrier` and reads element threads - 1 - i.
std::string reversal(const std::string& barrier, int threads = 128) {
  return kernel_text(1, kElement +
                     ".shared .align 4 .b8 s[512];\nmov.u64 %rd1, s;\nadd.s64 %rd2, %rd1, %rd7;\n"
                     "st.shared.u32 [%rd2], %r0;\n" +
                     barrier +
                     "\nsub.u32 %r1, " + std::to_string(threads - 1) +
                     ", %r0;\nmul.wide.u32 %rd3, %r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\n"
                     "ld.shared.u32 %r2, [%rd4];\nst.global.u32 [%rd8], %r2;");
}

TEST_CASE("PTX emulator: a barrier orders shared memory, and a missing barrier is found") {
  std::vector<uint32_t> out(128);
  CHECK(run_kernel_text(reversal("bar.sync 0;"), {.block = {128, 1, 1}}, out).error == "");
  for (uint32_t i = 0; i < 128; i++) CHECK(out[i] == 127 - i);
  CHECK(run_kernel_text(reversal("bar.sync 0;"), {.block = {128, 1, 1}, .checks_races = true}, out).error == "");
  auto unstored = run_kernel_text(reversal(""), {.block = {128, 1, 1}}, out);
  CHECK(unstored.fault->code == kLaunchFailed);
  CHECK(contains(unstored.error,
                 "line 23 of the PTX ('ld.shared.u32 %r2, [%rd4]'): thread (0,0,0) of block (0,0,0) reads 4 bytes "
                 "at 508 of shared memory, where nothing was stored before"));
  std::vector<uint32_t> one(32);
  auto race = run_kernel_text(kernel_text(1, kElement + "st.global.u32 [%rd0], %r0;"), {.checks_races = true}, one);
  CHECK(
      contains(race.error,
               "thread (1,0,0) of block (0,0,0) stores an address that thread (0,0,0) of block (0,0,0) stored with no "
               "barrier between: kernel 'k', line"));
  CHECK(run_kernel_text(kernel_text(1, kElement + "red.global.add.u32 [%rd0], %r0;"), {.checks_races = true}, one)
        .error == "");
  CHECK(one[0] == 31 * 16);
  // bar.warp.sync is a sufficient barrier if the block has only one warp
  CHECK(run_kernel_text(reversal("bar.warp.sync 0xffffffff;", 32), {.checks_races = true}, one).error == "");
  CHECK(contains(run_kernel_text(reversal("", 32), {.checks_races = true}, one).error, "with no barrier between"));
}

TEST_CASE("PTX emulator: a barrier that not all threads reach is a fault") {
  std::vector<uint32_t> out(128);
  auto in_warp = run_kernel_text(kernel_text(1, "setp.lt.u32 %p1, %r0, 3;\n@%p1 bra SKIP;\nbar.sync 0;\nSKIP:"),
                                 {.block = {64, 1, 1}}, out);
  CHECK(contains(in_warp.error, "('bar.sync 0'): thread (0,0,0) of block (0,0,0) does not reach a barrier"));
  auto of_warp = run_kernel_text(kernel_text(1, "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra SKIP;\nbar.sync 0;\nSKIP:"),
                                 {.block = {64, 1, 1}}, out);
  CHECK(
      contains(of_warp.error, "('bar.sync 0'): thread (0,0,0) of block (0,0,0) returned and does not reach a barrier"));
}

TEST_CASE("PTX emulator: out-of-bounds and misaligned accesses are reported with their place") {
  std::vector<uint32_t> out(8);
  auto beyond = run_kernel_text(kernel_text(1, ".loc 1 12 3\n" + kElement + "st.global.u32 [%rd8], %r0;"), {}, out);
  CHECK(beyond.fault->code == kIllegalAddress);
  CHECK(
      contains(beyond.error,
               "kernel 'k', line 16 of the PTX, line 12 of the source ('st.global.u32 [%rd8], %r0'): thread (8,0,0) of "
               "block (0,0,0) stores 4 bytes at 0x"));
  CHECK(contains(beyond.error, ", right behind the 32 bytes of argument 0"));
  auto before = run_kernel_text(kernel_text(1, kElement + "ld.global.u32 %r1, [%rd8-4];"), {.block = {2, 1, 1}}, out);
  CHECK(contains(before.error, "reads 4 bytes"));
  CHECK(contains(before.error, ", 4 bytes before the 32 bytes of argument 0"));
  auto crooked = run_kernel_text(kernel_text(1, "ld.global.v2.f32 {%f1, %f2}, [%rd0+4];"), {}, out);
  CHECK(crooked.fault->code == kMisalignedAddress);
  CHECK(contains(crooked.error, "which is no multiple of 8"));
  // a vector load that begins inside an allocation may read beyond its end; a vector store may not
  std::vector<uint32_t> three(3);
  CHECK(run_kernel_text(kernel_text(1, "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd0];"), {}, three).error == "");
  auto stored = run_kernel_text(kernel_text(1, "st.global.v4.f32 [%rd0], {%f1, %f2, %f3, %f4};"), {}, three);
  CHECK(contains(stored.error, "stores 16 bytes at 0x"));
  CHECK(contains(stored.error, ", across the end of the 12 bytes of argument 0"));
  auto shared = run_kernel_text(kernel_text(1, ".shared .b32 s[4];\nst.shared.u32 [s+16], %r0;"), {}, out);
  CHECK(contains(shared.error, "stores 4 bytes at 16 of 16 bytes of shared memory"));
}

TEST_CASE("PTX emulator: shfl, vote, redux and ldmatrix exchange data between lanes") {
  std::vector<uint32_t> out(32);
  auto lanes = [&](const std::string& body) {
    CHECK(run_kernel_text(kernel_text(1, kElement + body + "\nst.global.u32 [%rd8], %r9;"), {}, out).error == "");
  };
  lanes("shfl.sync.bfly.b32 %r9, %r0, 5, 31, -1;");
  for (uint32_t i = 0; i < 32; i++) CHECK(out[i] == (i ^ 5));
  lanes("shfl.sync.up.b32 %r9|%p1, %r0, 2, 0, -1;\n@!%p1 mov.u32 %r9, 99;");
  for (uint32_t i = 0; i < 32; i++) CHECK(out[i] == (i < 2 ? 99 : i - 2));
  lanes("shfl.sync.idx.b32 %r9, %r0, 3, 0x181f, -1;");  // 0x181f divides the warp into segments of 8 lanes
  for (uint32_t i = 0; i < 32; i++) CHECK(out[i] == i / 8 * 8 + 3);
  lanes("setp.lt.u32 %p1, %r0, 4;\nvote.sync.ballot.b32 %r9, %p1, -1;");
  CHECK(out[31] == 15);
  lanes("redux.sync.add.u32 %r9, %r0, -1;");
  CHECK(out[5] == 496);
  lanes(
      ".shared .align 16 .b8 s[512];\nmov.u64 %rd1, s;\nmul.wide.u32 %rd2, %r0, 16;\nadd.s64 %rd3, %rd1, %rd2;\n"
      "mul.lo.u32 %r1, %r0, 8;\nmov.u32 %r2, 0;\n"
      "LOOP: cvt.u16.u32 %h1, %r1; st.shared.u16 [%rd3], %h1; add.s64 %rd3, %rd3, 2;\n"
      "add.u32 %r1, %r1, 1; add.u32 %r2, %r2, 1;\n"
      "setp.lt.u32 %p1, %r2, 8;\n@%p1 bra LOOP;\nadd.s64 %rd3, %rd1, %rd2;\n"
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r5, %r9, %r6, %r7}, [%rd3];");
  // element (row, column) of matrix 1 is 64 + 8 * row + column; .trans gives lane 4g + t rows 2t, 2t + 1 of column g
  for (uint32_t i = 0; i < 32; i++) {
    uint32_t g = i / 4, t = i % 4;
    CHECK(out[i] == ((64 + 16 * t + g) | (64 + 16 * t + 8 + g) << 16));
  }
}

TEST_CASE("PTX emulator: mma multiplies a matrix by the identity matrix") {
  // A[i][k] is i * 16 + k, rows 0 to 7 of B are the identity and the rest is 0, and C is 1, so D[i][j] is A[i][j] + 1
  std::vector<float> out(128);
  std::string half = "mov.u32 %r1, %laneid;\nshr.u32 %r2, %r1, 2;\nand.b32 %r3, %r1, 3;\nshl.b32 %r3, %r3, 1;\n";
  auto element = [](const std::string& reg, int row, int column) {
    return "mad.lo.u32 %r4, %r2, 16, %r3;\nadd.u32 %r4, %r4, " + std::to_string(row * 16 + column) +
           ";\ncvt.rn.f16.u32 %h1, %r4;\nadd.u32 %r4, %r4, 1;\ncvt.rn.f16.u32 %h2, %r4;\nmov.b32 " + reg +
           ", {%h1, %h2};\n";
  };
  std::string b =
      "mov.b32 %r24, 0;\nmov.b32 %r25, 0;\nsetp.eq.u32 %p1, %r2, %r3;\n@%p1 mov.b32 %r24, 0x3c00;\n"
      "add.u32 %r4, %r3, 1;\nsetp.eq.u32 %p1, %r2, %r4;\n@%p1 mov.b32 %r24, 0x3c000000;\n";
  auto ran = run_kernel_text(
      kernel_text(
          1,
          half + element("%r20", 0, 0) + element("%r21", 8, 0) + element("%r22", 0, 8) + element("%r23", 8, 8) + b +
              "mov.b32 %f1, 0f3F800000;\n"
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5, %f6, %f7, %f8}, "
              "{%r20, %r21, %r22, %r23}, {%r24, %r25}, {%f1, %f1, %f1, %f1};\n"
              "mul.wide.u32 %rd1, %r1, 16;\nadd.s64 %rd2, %rd0, %rd1;\nst.global.v4.f32 [%rd2], {%f5, %f6, %f7, %f8};"),
      {}, out);
  CHECK(ran.error == "");
  for (int lane = 0; lane < 32; lane++)
    for (int e = 0; e < 4; e++)
      CHECK(out[size_t(lane * 4 + e)] == float((lane / 4 + 8 * (e / 2)) * 16 + lane % 4 * 2 + e % 2 + 1));
}

TEST_CASE("PTX emulator: unknown instructions and modifiers are errors that name them and their line") {
  auto error = [](const std::string& body) {
    std::vector<uint32_t> none(1);
    return run_kernel_text(kernel_text(1, body), {}, none).error;
  };
  CHECK(contains(error("frobnicate.f32 %f1, %f2;"), "13: unknown instruction 'frobnicate.f32'"));
  CHECK(contains(error("\nadd.shiny.f32 %f1, %f2, %f3;"), "14: 'add.shiny.f32': unknown modifier '.shiny'"));
  CHECK(contains(error("mov.u32 %r1, %moon;"), "13: 'mov.u32': '%moon' is neither a register nor a special one"));
  CHECK(contains(error("add.s32 %r1, %f2, %r3;"), "the register %f2 is a .f32, expected a .s32"));
  CHECK(contains(error("add.s32 %r1, %rd2, %r3;"), "the register %rd2 is a .b64, expected a .s32"));
  for (const char* wrong : {"cvt.rn.e4m3.f32 %h1, %f1;", "cvt.pred.u32 %p1, %r1;", "cvt.rn.pred.f64 %p1, %d1;",
                            "cvt.rna.tf32.f16 %r1, %h1;", "cvt.rna.tf32.pred %r1, %p1;"})
    CHECK(contains(error(wrong), "its types do not go together"));
  CHECK(contains(error("bra NOWHERE;"), "there is no label 'NOWHERE'"));
  CHECK(contains(error("call foo, (%r1);"), "calls are not supported"));
  CHECK(contains(error("ld.global.f32 %f1, [nothing];"), "there is no variable 'nothing'"));
  CHECK(contains(error("ld.param.u64 %rd1, [p0+4];"), "it reads beyond the parameter 'p0'"));
  CHECK(contains(parse_ptx("").diag().text(), "the text has no .target"));
  CHECK(contains(parse_ptx(".target sm_80\n.entry k() { mov.u32 %r1").diag().text(), "2: found the end of the text"));
}

}  // namespace tgc::ptx
