#include "lib/profile/align_code.h"

#include <doctest/doctest.h>

namespace tgc::profile {

TEST_CASE("mask_registers: numbers of registers, encodings and targets of branches do not count") {
  CHECK(mask_registers("v_add_f32_e32 v0, s1, v[2:3]") == "v_add_f32 v, s, v[2]");
  CHECK(mask_registers("v_add_co_ci_u32_e64 v2, vcc_lo, 0, s9, s2") == "v_add_co_ci_u32 v, s, 0, s, s");
  CHECK(mask_registers("global_load_b32 v3, v[3:4], off offset:128") == "global_load_b32 v, v[2], off offset:128");
  CHECK(mask_registers("s_cbranch_execz 43") == "s_cbranch_execz");
  CHECK(mask_registers("v_fma_f32 v1, |v2|, -v[3], 0x40") == "v_fma_f32 v, |v|, -v[1], 0x40");
  CHECK(mask_registers("s_waitcnt vmcnt(1)") == "s_waitcnt vmcnt(1)");
  CHECK(mask_registers("v_mov_b32 v[") == "v_mov_b32 v[1]");
  CHECK(mask_registers("") == "");
}

TEST_CASE("align_code: the same text first, then the same up to registers; the rest is in one version only") {
  const std::vector<std::string> a{"s_load_b64 s[0:1], s[4:5], null", "v_mov_b32 v0, 0", "s_nop 0",
                                   "v_add_f32 v1, v0, v2", "s_endpgm"};
  const std::vector<std::string> b{"s_load_b64 s[0:1], s[4:5], null", "v_mov_b32 v7, 0", "v_add_f32 v1, v7, v2",
                                   "v_add_f32 v1, v0, v2", "s_endpgm"};
  auto pairs = align_code(a, b);
  REQUIRE(pairs);
  std::vector<std::array<size_t, 3>> seen;
  for (const AlignedPair& p : *pairs) seen.push_back({p.a, p.b, p.is_same_text});
  constexpr size_t kNone = AlignedPair::kNone;
  CHECK(seen == std::vector<std::array<size_t, 3>>{
                    {0, 0, 1}, {1, 1, 0}, {2, kNone, 0}, {kNone, 2, 0}, {3, 3, 1}, {4, 4, 1}});
  CHECK(align_code({}, b)->size() == b.size());
  CHECK_FALSE(align_code(std::vector<std::string>(1 << 13, "a"), std::vector<std::string>(1 << 13, "b")));
}

}  // namespace tgc::profile
