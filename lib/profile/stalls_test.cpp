#include "lib/profile/stalls.h"

#include <doctest/doctest.h>

#include "lib/profile/instruction_role.h"

namespace tgc::profile {
namespace {

using Counter = WaitCounter;
using Unit = InstructionUnit;

std::vector<std::pair<Counter, uint32_t>> waits(std::string_view text, Isa isa = Isa::Rdna3) {
  std::vector<std::pair<Counter, uint32_t>> out;
  for (const InstructionRole::Wait& w : parse_role(text, isa).waits) out.emplace_back(w.counter, w.max_outstanding);
  return out;
}
std::vector<Counter> raises(std::string_view text, Isa isa = Isa::Rdna3) {
  return parse_role(text, isa).raised_counters;
}

}  // namespace

TEST_CASE("instruction roles: what raises and awaits the counters of RDNA3, RDNA4 and CDNA") {
  using Waits = std::vector<std::pair<Counter, uint32_t>>;
  CHECK(waits("s_waitcnt vmcnt(1) lgkmcnt(0)") == Waits{{Counter::Load, 1}, {Counter::Lgkm, 0}});
  CHECK(waits("s_waitcnt_vscnt null, 0x0") == Waits{{Counter::Store, 0}});
  CHECK(waits("s_wait_kmcnt 0x0", Isa::Rdna4) == Waits{{Counter::Scalar, 0}});
  CHECK(waits("s_wait_loadcnt_dscnt 0x102", Isa::Rdna4) == Waits{{Counter::Load, 1}, {Counter::Lds, 2}});
  CHECK(waits("s_wait_idle", Isa::Rdna4).size() == kNumWaitCounters);
  CHECK(waits("s_waitcnt_depctr 0xfff").empty());
  using List = std::vector<Counter>;
  CHECK(raises("global_load_b64 v[1:2], v[1:2], off") == List{Counter::Load});
  CHECK(raises("global_store_b32 v1, v0, s[0:1]") == List{Counter::Store});
  CHECK(raises("global_store_dword v1, v0, s[0:1]", Isa::Cdna) == List{Counter::Load});  // CDNA counts stores as loads
  CHECK(raises("global_atomic_add_u32 v0, v1, s[0:1]") == List{Counter::Store});
  CHECK(raises("global_atomic_add_u32 v2, v0, v1, s[0:1] glc") == List{Counter::Load});
  CHECK(raises("ds_load_b32 v0, v1") == List{Counter::Lgkm});
  CHECK(raises("ds_load_b32 v0, v1", Isa::Rdna4) == List{Counter::Lds});
  CHECK(raises("s_load_b128 s[4:7], s[0:1], null") == List{Counter::Lgkm});
  CHECK(raises("s_load_b128 s[4:7], s[0:1], 0x0", Isa::Rdna4) == List{Counter::Scalar});
  CHECK(raises("flat_load_b32 v0, v[2:3]") == List{Counter::Load, Counter::Lgkm});
  CHECK(raises("exp mrt0 v0, v1, v2, v3 done") == List{Counter::Export});
  CHECK(raises("v_add_f32_e32 v0, v0, v1").empty());
  CHECK(parse_role("scratch_load_b32 v0, off, s1", Isa::Rdna3).is_scratch);
  CHECK(parse_role("ds_load_b128 v[0:3], v9", Isa::Rdna3).lane_bytes == 16);
  CHECK(parse_role("ds_load_2addr_b32 v[0:1], v9 offset1:32", Isa::Rdna3).lane_bytes == 8);
  CHECK(parse_role("ds_load_2addr_b32 v[0:1], v9 offset1:32", Isa::Rdna3).num_addresses == 2);
  CHECK(parse_role("ds_bpermute_b32 v0, v1, v2", Isa::Rdna3).lane_bytes == 0);
  CHECK(parse_role("global_atomic_add_u64 v[0:1], v[2:3], off", Isa::Rdna3).lane_bytes == 8);
  CHECK(parse_role("global_atomic_add_x2 v[0:1], v[2:3], off", Isa::Cdna).lane_bytes == 8);
}

TEST_CASE("instruction roles: registers that an instruction reads and writes") {
  auto depends = [](std::string_view later, std::string_view earlier) {
    return parse_role(later, Isa::Rdna3).depends_on(parse_role(earlier, Isa::Rdna3));
  };
  CHECK(depends("v_add_f32_e32 v0, v1, v2", "v_mul_f32_e32 v2, v3, v4"));
  CHECK_FALSE(depends("v_add_f32_e32 v0, v1, v2", "v_mul_f32_e32 v5, v3, v4"));
  CHECK(depends("global_load_b32 v5, v[3:4], off", "v_add_nc_u32_e32 v4, 1, v9"));
  CHECK(depends("v_dual_mov_b32 v1, 0 :: v_dual_fmac_f32 v4, v2, v3", "v_fma_f32 v4, v1, v5, 0"));
  CHECK(depends("s_cbranch_scc0 65435", "s_cmpk_eq_i32 s2, 0x100"));
  CHECK(depends("s_cbranch_execz 43", "v_cmpx_eq_u32_e32 0, v0"));
  CHECK(depends("v_add_co_ci_u32_e32 v2, vcc_lo, s7, v2, vcc_lo", "v_add_co_u32 v1, vcc_lo, s6, v1"));
  CHECK(depends("global_store_b32 v1, v0, s[0:1]", "v_add_f32_e32 v0, v0, v9"));
  CHECK_FALSE(depends("v_mov_b32_e32 v7, 0", "global_store_b32 v7, v0, s[0:1]"));  // a store writes no register
  CHECK_FALSE(depends("s_add_u32 s1, s6, s2", "v_mov_b32_e32 v1, 0"));             // v1 is not s1
}

}  // namespace tgc::profile
