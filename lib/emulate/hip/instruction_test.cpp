#include <cmath>

#include "lib/emulate/hip/testing.h"
#include "lib/emulate/numbers.h"

namespace tgc::hip {
namespace {

uint32_t f(float x) { return std::bit_cast<uint32_t>(x); }

struct Case {
  const char* text;  // computes v0 from v1, v2 and v3
  uint32_t a, b, c, result;
};

std::string complaint_of(const std::string& text, GpuFamily family = GpuFamily::Gfx11) {
  try {
    TestWave wave(text, family);
  } catch (const Failure& failure) { return failure.diag().message; }
  return "";
}

}  // namespace

TEST_CASE("HIP emulator: vector instructions compute known values") {
  const Case cases[] = {
      {"v_add_f32_e32 v0, v1, v2", f(1.5f), f(2.25f), 0, f(3.75f)},
      {"v_add_f32_e64 v0, -v1, |v2|", f(1.5f), f(-2.25f), 0, f(0.75f)},
      {"v_add_f32_e64 v0, v1, v2 clamp", f(1.5f), f(2.25f), 0, f(1.0f)},
      {"v_add_f32_e64 v0, v1, v2 mul:4", f(1.5f), f(2.25f), 0, f(15.0f)},
      {"v_sub_f32_e32 v0, 0.15915494, v2", 0, 0, 0, 0x3e22f983},
      {"v_mul_f32_e32 v0, 0x40490fdb, v1", f(2.0f), 0, 0, 0x40c90fdb},
      {"v_fma_f32 v0, v1, v2, v3", f(1 + 0x1p-12f), f(1 + 0x1p-12f), f(-1), f(0x1p-11f + 0x1p-24f)},
      {"v_fmac_f32_e32 v0, v1, v2", f(3), f(4), 0, f(12)},
      {"v_fmaak_f32 v0, v1, v2, 0x3f800000", f(3), f(4), 0, f(13)},
      {"v_fmamk_f32 v0, v1, 0x40000000, v2", f(3), f(4), 0, f(10)},
      {"v_max_f32_e32 v0, v1, v2", 0x7fc00000, f(4), 0, f(4)},
      {"v_min_f32_e32 v0, v1, v2", f(3), 0x7fc00000, 0, f(3)},
      {"v_med3_f32 v0, v1, v2, v3", f(3), f(1), f(2), f(2)},
      {"v_rndne_f32_e32 v0, v1", f(2.5f), 0, 0, f(2)},
      {"v_exp_f32_e32 v0, v1", f(10), 0, 0, f(1024)},
      {"v_log_f32_e32 v0, v1", f(0.125f), 0, 0, f(-3)},
      {"v_ldexp_f32 v0, v1, v2", f(1.5f), 4, 0, f(24)},
      {"v_cvt_i32_f32_e32 v0, v1", f(-3e9f), 0, 0, 0x80000000},
      {"v_cvt_u32_f32_e32 v0, v1", f(-1), 0, 0, 0},
      {"v_cvt_i32_f32_e32 v0, v1", 0x7fc00000, 0, 0, 0},
      {"v_cvt_f16_f32_e32 v0, v1", f(65519.0f), 0, 0, 0x7bff},
      {"v_cvt_f32_f16_e32 v0, v1", 0x12343c00, 0, 0, f(1)},
      {"v_cvt_f32_ubyte1_e32 v0, v1", 0x0000ff00, 0, 0, f(255)},
      {"v_cvt_pk_rtz_f16_f32_e32 v0, v1, v2", f(1.9999f), f(-2), 0, 0xc0003fff},
      {"v_div_fixup_f32 v0, v1, v2, v3", f(1), f(0), f(-1), 0xff800000},
      {"v_add3_u32 v0, v1, v2, v3", 1, 2, 0xffffffff, 2},
      {"v_sub_nc_u32_e32 v0, v1, v2", 1, 2, 0, 0xffffffff},
      {"v_mul_hi_u32 v0, v1, v2", 0x80000000, 6, 0, 3},
      {"v_mul_hi_i32 v0, v1, v2", 0x80000000, 6, 0, 0xfffffffd},
      {"v_mul_i32_i24_e32 v0, v1, v2", 0x00ffffff, 5, 0, 0xfffffffb},
      {"v_mad_u32_u24 v0, v1, v2, v3", 0xff000003, 5, 1, 16},
      {"v_lshlrev_b32_e32 v0, 4, v1", 0x10000001, 0, 0, 0x10},
      {"v_ashrrev_i32_e32 v0, 31, v1", 0x80000000, 0, 0, 0xffffffff},
      {"v_lshl_add_u32 v0, v1, 2, v3", 5, 0, 1, 21},
      {"v_xad_u32 v0, v1, v2, v3", 6, 3, 10, 15},
      {"v_bfe_i32 v0, v1, 8, 8", 0x0000f100, 0, 0, 0xfffffff1},
      {"v_bfe_u32 v0, v1, 8, 8", 0x0000f100, 0, 0, 0xf1},
      {"v_alignbit_b32 v0, v1, v2, 8", 0x11223344, 0x55667788, 0, 0x44556677},
      {"v_perm_b32 v0, v1, v2, v3", 0x11223344, 0x55667788, 0x07000c0d, 0x118800ff},
      {"v_bfi_b32 v0, v1, v2, v3", 0xffff0000, 0x12345678, 0x9abcdef0, 0x1234def0},
      {"v_and_or_b32 v0, v1, v2, v3", 0xff, 0x1234, 0x10000, 0x10034},
      {"v_clz_i32_u32_e32 v0, v1", 0x00010000, 0, 0, 15},
      {"v_cls_i32_e32 v0, v1", 0xffff0000, 0, 0, 16},
      {"v_med3_i32 v0, v1, v2, v3", 0xffffffff, 7, 3, 3},
      {"v_pack_b32_f16 v0, v1, v2", 0xabcd1234, 0xffff5678, 0, 0x56781234},
      {"v_pk_add_f16 v0, v1, v2", 0x3c004000, 0x3c003c00, 0, 0x40004200},
      {"v_pk_mul_f16 v0, v1, v2 op_sel_hi:[0,1]", 0x3c004000, 0x3c004200, 0, 0x40004600},
      {"v_pk_add_u16 v0, v1, v2", 0x0001ffff, 0x00010001, 0, 0x00020000},
      {"v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]", 0x40000000, f(3), f(1), f(7)},
      {"v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,0,0]", 0xff020304, 0x02010101, 7, 7 + 4 + 3 + 2 - 2},
      {"v_dot2_f32_f16 v0, v1, v2, v3", 0x3c004000, 0x42003c00, f(1), f(6)},
      {"v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v2", 5, 6, 0, 5},
      {"v_mov_b32_e32 v0, v2\nv_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0\nv_sub_nc_u32_e32 v0, v1, v0", 5, 6, 0, 1},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    TestWave t(c.text);
    t.set_lanes(1, c.a), t.set_lanes(2, c.b), t.set_lanes(3, c.c);
    REQUIRE(t.run() == "");
    for (uint32_t lane : {0u, 31u}) CHECK(t.wave.lane(0, lane) == c.result);
  }
}

TEST_CASE("HIP emulator: 16-bit and sub-dword results keep or clear the rest of the register as the processor does") {
  auto result = [](const char* text, GpuFamily family) {
    TestWave t(text, family, family == GpuFamily::Gfx9 ? 2 : 1);
    t.set_lanes(0, 0xaaaaaaaa), t.set_lanes(1, 0x40003c00), t.set_lanes(2, 0x00030201);
    REQUIRE(t.run() == "");
    return t.wave.lane(0, 5);
  };
  CHECK(result("v_add_f16_e32 v0, v1, v1", GpuFamily::Gfx11) == 0xaaaa4000);
  CHECK(result("v_add_f16_e32 v0, v1, v1", GpuFamily::Gfx9) == 0x00004000);
  CHECK(result("v_add_f16_e64 v0, v1, v1 op_sel:[1,0,1]", GpuFamily::Gfx11) == 0x4200aaaa);
  CHECK(result("v_add_u16_sdwa v0, v2, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:BYTE_0",
               GpuFamily::Gfx9) == 0x00000300);
  CHECK(result("v_add_u16_sdwa v0, v2, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 src1_sel:BYTE_2",
               GpuFamily::Gfx9) == 0xaaaa05aa);
  CHECK(
      result("v_mov_b32_e32 v0, 0\nv_cvt_f32_i32_sdwa v0, sext(v2) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0",
             GpuFamily::Gfx9) == f(1));
}

TEST_CASE("HIP emulator: lane masks, carries and EXEC work in waves of 32 and of 64") {
  for (uint32_t num_halves : {1u, 2u}) {
    bool wide = num_halves == 2;
    GpuFamily family = wide ? GpuFamily::Gfx9 : GpuFamily::Gfx11;
    std::string vcc = wide ? "vcc" : "vcc_lo", pair = wide ? "s[2:3]" : "s2", exec = wide ? "exec" : "exec_lo";
    std::string b = wide ? "b64" : "b32";
    TestWave t("v_cmp_gt_u32_e32 " + vcc + ", 20, v1\n" +               // sets the mask bits of lanes 0 to 19
               "s_and_saveexec_" + b + " " + pair + ", " + vcc + "\n" + "v_mov_b32_e32 v0, 7\n" + "s_or_" + b +
               " " + exec + ", " + exec + ", " + pair + "\n" + "v_cndmask_b32_e64 v2, 0, 1, " + vcc + "\n" +
               (wide ? "v_add_co_u32_e32 v3, vcc, -1, v1\nv_addc_co_u32_e32 v4, vcc, 0, v5, vcc"
                : "v_add_co_u32 v3, vcc_lo, -1, v1\nv_add_co_ci_u32_e32 v4, vcc_lo, 0, v5, vcc_lo"),
               family, num_halves);
    for (uint32_t lane = 0; lane < 32 * num_halves; lane++) t.wave.lane(1, lane) = lane;
    REQUIRE(t.run() == "");
    for (uint32_t lane = 0; lane < 32 * num_halves; lane++) {
      INFO(num_halves, " ", lane);
      CHECK(t.wave.lane(0, lane) == (lane < 20 ? 7 : 0));
      CHECK(t.wave.lane(2, lane) == (lane < 20));
      CHECK(t.wave.lane(3, lane) == lane - 1);
      CHECK(t.wave.lane(4, lane) == (lane > 0));
    }
  }
}

TEST_CASE("HIP emulator: the division sequence is correctly rounded at both ends of the range") {
  const std::string divide =
      "v_div_scale_f32 v3, null, v2, v2, v1\nv_div_scale_f32 v4, vcc_lo, v1, v2, v1\nv_rcp_f32_e32 v5, v3\n"
      "v_fma_f32 v6, -v3, v5, 1.0\nv_fmac_f32_e32 v5, v6, v5\nv_mul_f32_e32 v6, v4, v5\nv_fma_f32 v7, -v3, v6, v4\n"
      "v_fmac_f32_e32 v6, v7, v5\nv_fma_f32 v3, -v3, v6, v4\nv_div_fmas_f32 v3, v3, v5, v6\n"
      "v_div_fixup_f32 v0, v3, v2, v1";
  const float numbers[] = {1, 3, -7, 1e-30f, 1e30f, 3e38f, 1e-38f, 1e-44f, 0x1p126f, 1.5e19f, 0, INFINITY};
  for (float a : numbers)
    for (float b : numbers) {
      TestWave t(divide);
      t.set_float_lanes(1, a), t.set_float_lanes(2, b);
      REQUIRE(t.run() == "");
      INFO(a, " / ", b, " is ", a / b, ", not ", t.float_lane(0));
      CHECK((a / b == t.float_lane(0) || (a / b != a / b && t.float_lane(0) != t.float_lane(0))));
    }
}

TEST_CASE("HIP emulator: scalar instructions compute known values") {
  TestWave t(
      "s_mov_b32 s0, -1\ns_add_u32 s1, s0, 2\ns_addc_u32 s2, 0, 0\ns_mul_hi_u32 s3, s0, s0\ns_movk_i32 s4, 0xfffe\n"
      "s_mulk_i32 s4, 0x3\ns_bfe_u32 s5, 0xabcd, 0x80004\ns_cmpk_lt_i32 s4, 0xfffb\ns_cselect_b32 s6, 1, 2\n"
      "s_lshl_b64 s[8:9], s[0:1], 4\ns_ashr_i64 s[10:11], s[8:9], 36\ns_brev_b32 s12, 1\ns_clz_i32_u32 s13, 1\n"
      "s_and_not1_b32 s14, 7, 2\ns_mov_b64 s[16:17], 0x123456789\ns_abs_i32 s18, s4");
  REQUIRE(t.run() == "");
  const uint32_t expected[] = {0xffffffff, 1,  1, 0xfffffffe, uint32_t(-6), 0xbc, 1, 0, 0xfffffff0, 0x1f, 0x1, 0,
                               1u << 31,   31, 5, 0,          0x23456789,   1,    6};
  for (uint32_t n = 0; n < std::size(expected); n++) {
    INFO("s", n);
    CHECK(t.wave.scalar_registers[n] == expected[n]);
  }
}

TEST_CASE("HIP emulator: gfx12's scalar float instructions compute known values") {
  TestWave t(
      "s_mov_b32 s0, 3.0\ns_mov_b32 s1, 0x40a00000\ns_fmac_f32 s1, s0, s0\ns_fmaak_f32 s2, s0, s1, 0x3f800000\n"
      "s_cmp_ngt_f32 s0, s1\ns_cselect_b32 s3, 1, 0\nv_s_rcp_f32 s4, -s0\ns_cvt_f16_f32 s5, s0\n"
      "s_cvt_i32_f32 s6, 0xcf800000",
      GpuFamily::Gfx12);
  REQUIRE(t.run() == "");
  const uint32_t expected[] = {f(3), f(14), f(43), 1, f(-1.0f / 3), 0x4200, 0x80000000};
  for (uint32_t n = 0; n < std::size(expected); n++) {
    INFO("s", n);
    CHECK(t.wave.scalar_registers[n] == expected[n]);
  }
}

TEST_CASE("HIP emulator: LDS and private memory, lane instructions and loops work") {
  TestWave t(
      "v_lshlrev_b32_e32 v2, 2, v1\nds_store_b32 v2, v1 offset:4\nds_load_2addr_b32 v[4:5], v2 offset0:1 offset1:1\n"
      "scratch_store_b32 off, v1, off offset:8\nscratch_load_b32 v6, off, off offset:8\n"
      "v_readlane_b32 s0, v1, 9\nv_writelane_b32 v7, s0, 3\nv_readfirstlane_b32 s1, v1\n"
      "s_mov_b32 s2, 5\nv_add_nc_u32_e32 v8, 2, v8\ns_sub_i32 s2, s2, 1\ns_cmp_lg_u32 s2, 0\ns_cbranch_scc1 65532");
  for (uint32_t lane = 0; lane < 32; lane++) t.wave.lane(1, lane) = lane;
  REQUIRE(t.run() == "");
  for (uint32_t lane = 0; lane < 32; lane++) {
    CHECK(t.wave.lane(4, lane) == lane);
    CHECK(t.wave.lane(5, lane) == lane);
    CHECK(t.wave.lane(6, lane) == lane);
    CHECK(t.wave.lane(7, lane) == (lane == 3 ? 9 : 0));
    CHECK(t.wave.lane(8, lane) == 10);
  }
  CHECK(t.wave.scalar_registers[0] == 9);
}

TEST_CASE("HIP emulator: DPP and permutations read from other lanes") {
  struct Case {
    const char* text;       // an instruction that runs with the lane's number in v1 and 100 in v0
    GpuFamily family;
    int from_5, from_0, from_20;  // expected v0 of lanes 5, 0 and 20
  };
  const Case cases[] = {
      {"v_mov_b32_dpp v0, v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf", GpuFamily::Gfx9, 6, 3, 23},
      {"v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf", GpuFamily::Gfx9, 4, 100, 19},
      {"v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", GpuFamily::Gfx9, 4, 0, 19},
      {"v_mov_b32_dpp v0, v1 row_shl:12 row_mask:0xf bank_mask:0xf", GpuFamily::Gfx9, 100, 12, 100},
      {"v_mov_b32_dpp v0, v1 row_ror:3 row_mask:0xf bank_mask:0xf", GpuFamily::Gfx9, 2, 13, 17},
      {"v_mov_b32_dpp v0, v1 row_mirror row_mask:0x1 bank_mask:0xf", GpuFamily::Gfx9, 10, 15, 100},
      {"v_mov_b32_dpp v0, v1 row_half_mirror row_mask:0xf bank_mask:0x2", GpuFamily::Gfx9, 2, 100, 19},
      {"v_mov_b32_dpp v0, v1 row_bcast:15 row_mask:0xa bank_mask:0xf", GpuFamily::Gfx9, 100, 100, 15},
      {"v_mov_b32_dpp v0, v1 row_share:3 row_mask:0xf bank_mask:0xf", GpuFamily::Gfx11, 3, 3, 19},
      {"v_mov_b32_dpp v0, v1 row_xmask:2 row_mask:0xf bank_mask:0xf", GpuFamily::Gfx11, 7, 2, 22},
      {"v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]", GpuFamily::Gfx12, 2, 7, 19},
      {"v_add_nc_u32_e64_dpp v0, v1, v1 row_xmask:1 row_mask:0xf bank_mask:0xf", GpuFamily::Gfx11, 9, 1, 41},
      {"v_permlanex16_b32 v0, v1, s4, s5", GpuFamily::Gfx11, 22, 19, 4},
      {"ds_bpermute_b32 v0, v2, v1", GpuFamily::Gfx11, 26, 31, 11},
      {"ds_permute_b32 v0, v2, v1", GpuFamily::Gfx11, 26, 31, 11},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    bool wide = c.family == GpuFamily::Gfx9;
    TestWave t(c.text, c.family, wide ? 2 : 1);
    for (uint32_t lane = 0; lane < 32 * t.wave.num_halves; lane++)
      t.wave.lane(1, lane) = lane, t.wave.lane(2, lane) = 4 * (31 - lane % 32);
    t.set_lanes(0, 100);
    // source lanes of v_permlanex16, 4 bits each
    t.wave.scalar_registers[4] = 0x77643213, t.wave.scalar_registers[5] = 0xfedcba98;
    uint64_t exec = t.wave.exec();
    REQUIRE(t.run() == "");
    CHECK(t.wave.exec() == exec);
    CHECK(t.wave.lane(0, 5) == uint32_t(c.from_5));
    CHECK(t.wave.lane(0, 0) == uint32_t(c.from_0));
    CHECK(t.wave.lane(0, 20) == uint32_t(c.from_20));
  }
}

TEST_CASE("HIP emulator: v_trig_preop_f64 returns the bits of 2/pi that reduce a number") {
  auto run = [](double value, uint32_t segment) {
    TestWave t("v_trig_preop_f64 v[0:1], |v[2:3]|, v4");
    uint64_t bits = std::bit_cast<uint64_t>(value);
    t.set_lanes(2, uint32_t(bits)), t.set_lanes(3, uint32_t(bits >> 32)), t.set_lanes(4, segment);
    REQUIRE(t.run() == "");
    return std::bit_cast<double>(uint64_t(t.wave.lane(1, 7)) << 32 | t.wave.lane(0, 7));
  };
  CHECK(run(-1, 0) == 0x1.45f306dc9c882p-1);  // 2/pi is 0x1.45f306dc9c882a53f84eafa3ea69bb...p-1
  CHECK(run(1, 1) == 0x1.4a7f09d5f47d4p-54);
  CHECK(run(0x1p55, 0) == 0x1.17cc1b727220ap-3);  // the operand's exponent, 1078, moves the window by one bit
  CHECK((run(0x1p1000, 0) < 0x1p-818 && run(0x1p1000, 0) > 0));  // the result for a large operand is scaled by 2^128
}

TEST_CASE("HIP emulator: fp8 conversions follow gfx942's and gfx12's formats") {
  auto run = [](const std::string& text, GpuFamily family, uint32_t one, uint32_t two) {
    TestWave t(text, family, family == GpuFamily::Gfx9 ? 2 : 1);
    t.set_lanes(0, 0xaaaaaaaa), t.set_lanes(2, one), t.set_lanes(3, two);
    REQUIRE(t.run() == "");
    return std::pair(t.wave.lane(0, 7), t.wave.lane(1, 7));
  };
  const GpuFamily old = GpuFamily::Gfx9, ocp = GpuFamily::Gfx12;
  CHECK(run("v_cvt_pk_fp8_f32 v0, v2, v3", old, f(1), f(-2)).first == 0xaaaac840);
  CHECK(run("v_cvt_pk_fp8_f32 v0, v2, v3 op_sel:[0,0,1]", ocp, f(1), f(-2)).first == 0xc038aaaa);
  CHECK(run("v_cvt_pk_fp8_f32 v0, v2, v3", old, f(240), f(260)).first == 0xaaaa807f);  // 260 is too large: NaN
  CHECK(run("v_cvt_pk_fp8_f32 v0, v2, v3", old, f(-0.0f), f(-1e-9f)).first == 0xaaaa0000);
  CHECK(run("v_cvt_pk_bf8_f32 v0, v2, v3", ocp, f(1.25f), f(1e9f)).first == 0xaaaa7c3d);
  CHECK(run("v_cvt_pk_bf8_f32 v0, v2, v3", old, f(1.25f), f(57344)).first == 0xaaaa7f41);
  CHECK(run("v_cvt_f32_fp8_e32 v0, v2", old, 0x40, 0).first == f(1));
  CHECK(run("v_cvt_f32_fp8_sdwa v0, v2 src0_sel:BYTE_2", old, 0x00c80000, 0).first == f(-2));
  CHECK(run("v_cvt_f32_fp8_e64 v0, v2 byte_sel:3", ocp, 0x38000000, 0).first == f(1));
  CHECK(run("v_cvt_pk_f32_bf8_e32 v[0:1], v2", ocp, 0xbc3c, 0) == std::pair(f(1), f(-1)));
  CHECK(std::isnan(std::bit_cast<float>(run("v_cvt_f32_bf8_e32 v0, v2", old, 0x80, 0).first)));
}

TEST_CASE("HIP emulator: atomic operations work on global memory and LDS") {
  alignas(8) uint32_t memory[4] = {};
  auto run = [&](const std::string& text, GpuFamily family, uint32_t before, uint32_t one, uint32_t two) {
    TestWave t(text, family, family == GpuFamily::Gfx9 ? 2 : 1);
    auto at = reinterpret_cast<uint64_t>(memory);
    t.launch.memory_ranges = {{at, at + sizeof memory}};
    t.wave.scalar_registers[4] = uint32_t(at), t.wave.scalar_registers[5] = uint32_t(at >> 32);
    t.set_lanes(2, 4), t.set_lanes(4, one), t.set_lanes(5, two);
    memory[1] = before;
    std::memcpy(t.group.lds_memory.data() + 4, &before, 4);
    std::string error = t.run();
    if (text.starts_with("ds_")) std::memcpy(&memory[1], t.group.lds_memory.data() + 4, 4);
    return error.empty() ? std::pair(memory[1], t.wave.lane(0, 31)) : std::pair(0xdeadu, 0xdeadu);
  };
  const GpuFamily old = GpuFamily::Gfx9, next = GpuFamily::Gfx11;
  CHECK(run("global_atomic_add_u32 v0, v2, v4, s[4:5] glc", next, 10, 3, 0) == std::pair(10u + 32 * 3, 10u + 31 * 3));
  CHECK(run("global_atomic_add_u32 v2, v4, s[4:5]", next, 10, 3, 0).first == 10 + 32 * 3);
  CHECK(run("global_atomic_add v2, v4, s[4:5]", old, 10, 3, 0).first == 10 + 64 * 3);
  CHECK(run("global_atomic_add_f32 v2, v4, s[4:5]", old, f(0.5f), f(1), 0).first == f(64.5f));
  CHECK(run("global_atomic_pk_add_f16 v2, v4, s[4:5]", old, 0x3c003c00, 0x00003c00, 0).first == 0x3c005410);
  CHECK(run("global_atomic_cmpswap_b32 v0, v2, v[4:5], s[4:5] glc", next, 7, 9, 7) == std::pair(9u, 9u));
  CHECK(run("ds_cmpstore_rtn_b32 v0, v2, v4, v5", next, 7, 9, 7) == std::pair(9u, 9u));
  CHECK(run("ds_cmpst_rtn_b32 v0, v2, v4, v5", old, 7, 7, 9) == std::pair(9u, 9u));
  CHECK(run("ds_max_rtn_i32 v0, v2, v4", next, 0xffffffff, 3, 0) == std::pair(3u, 3u));
  CHECK(run("ds_inc_u32 v2, v4", next, 2, 2, 0).first == (2 + 32) % 3);
  // the address is not aligned to 4
  CHECK(run("global_atomic_umax v2, v4, s[4:5] offset:2", old, 1, 2, 0).first == 0xdead);
}

TEST_CASE("HIP emulator: matrix instructions multiply matrices") {
  // A permutes rows and multiplies by 2, so A * B + C is 2 * B with permuted rows, plus C
  struct Kind {
    const char* text;
    GpuFamily family;
    uint32_t num_halves, in_lane;
  };
  for (const Kind& kind : {Kind{"v_wmma_f32_16x16x16_f16 v[40:47], v[0:7], v[8:15], v[40:47]", GpuFamily::Gfx11, 1, 16},
                           Kind{"v_wmma_f32_16x16x16_f16 v[40:47], v[0:3], v[8:11], v[40:47]", GpuFamily::Gfx12, 1, 8},
                           Kind{"v_mfma_f32_16x16x16_f16 a[40:43], v[0:1], v[8:9], a[40:43]", GpuFamily::Gfx9, 2, 4}}) {
    INFO(kind.text);
    TestWave t(kind.text, kind.family, kind.num_halves);
    auto permuted = [](uint32_t row) { return (row * 5 + 3) % 16; };
    for (uint32_t lane = 0; lane < 32 * kind.num_halves; lane++)
      for (uint32_t e = 0; e < kind.in_lane; e++) {
        uint32_t k = kind.family == GpuFamily::Gfx11 ? e : lane / 16 * kind.in_lane + e, n = lane % 16;
        auto put = [&](uint32_t base, float value) {
          t.wave.lane(base + e / 2, lane) |= uint32_t(float_to_half(value)) << (16 * (e & 1));
        };
        put(0, k == permuted(n) ? 2.0f : 0.0f), put(8, float(k * 16 + n));
      }
    uint32_t base = kind.family == GpuFamily::Gfx9 ? kFirstAccumulator + 40 : 40;
    uint32_t registers = 256 / (32 * kind.num_halves);
    for (uint32_t e = 0; e < registers; e++) t.set_float_lanes(base + e, 1);
    REQUIRE(t.run() == "");
    for (uint32_t lane = 0; lane < 32 * kind.num_halves; lane++)
      for (uint32_t e = 0; e < registers; e++) {
        uint32_t row = kind.family == GpuFamily::Gfx11   ? 2 * e + lane / 16
                       : kind.family == GpuFamily::Gfx12 ? e + 8 * (lane / 16)
                                                      : 4 * (lane / 16) + e;
        CHECK(t.float_lane(base + e, lane) == 1 + 2 * float(permuted(row) * 16 + lane % 16));
      }
  }
}

TEST_CASE("HIP emulator: unsupported instructions are refused by name") {
  CHECK(complaint_of("v_frobnicate_b32 v0, v1") ==
        "instruction at 0x100 of kernel 'k' ('v_frobnicate_b32 v0, v1'): unknown instruction 'v_frobnicate_b32'");
  CHECK(complaint_of("v_add_f32_e32 v0, v1").find("2 operands, expected 3") != std::string::npos);
  CHECK(complaint_of("v_add_f32_e32 v[0:1], v1, v2").find("expected 1 vector register") != std::string::npos);
  CHECK(complaint_of("v_add_f32_dpp v0, v1, v2 row_mask:0xf").find("no lanes are named") != std::string::npos);
  CHECK(complaint_of("s_cbranch_scc1 100").find("where no instruction begins") != std::string::npos);
  CHECK(complaint_of("v_add_f32_e64 v0, v1, v2 frob:1").find("the modifier 'frob' is not known here") !=
        std::string::npos);
}

TEST_CASE("HIP emulator: with watching on, a value used before its wait is a fault") {
  const std::string load = "ds_load_b32 v1, v2\n", use = "\nv_add_f32_e32 v0, v1, v1";
  CHECK(TestWave(load + "s_waitcnt lgkmcnt(0)" + use).run(true) == "");
  CHECK(TestWave(load + use).run(false) == "");
  std::string found = TestWave(load + use).run(true);
  CHECK(found.find(
            "uses 'v1' before it waits for what fills it: kernel 'k', instruction at 0x100 ('ds_load_b32 v1, v2')") !=
        std::string::npos);
  CHECK(TestWave("ds_store_b32 v2, v1\ns_waitcnt lgkmcnt(0)\ns_barrier").run(true) == "");
  CHECK(TestWave("ds_store_b32 v2, v1\ns_barrier")
        .run(true)
        .find("reaches a barrier before it waits for what it stored to shared memory") != std::string::npos);
  CHECK(TestWave("ds_load_b32 v1, v2\nds_load_b32 v3, v2\ns_waitcnt lgkmcnt(1)" + use).run(true) == "");
  CHECK(TestWave("ds_load_b32 v3, v2\nds_load_b32 v1, v2\ns_waitcnt lgkmcnt(1)" + use).run(true) != "");
}

}  // namespace tgc::hip
