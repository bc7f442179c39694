#include "lib/profile/hints.h"

#include <doctest/doctest.h>

#include "lib/profile/emulated_trace.h"

namespace tgc::profile {
namespace {

using hip::TraceEvent;

struct Run {
  Profile profile;
  ProgramListings::Listing listing;
  StallReport stalls;
  std::vector<SpeedHint> found() const { return speed_hints(profile, 0, listing, stalls); }
};

constexpr uint64_t kBase = 0x1000;

// Makes a run of instructions of 4 bytes: `texts`, a branch back to the first one, and s_endpgm. `loops` has the
// iterations of each wave.
Run run_of(const std::vector<std::string>& texts, const std::vector<uint32_t>& loops, const char* name = "r_4") {
  constexpr uint32_t move = 0x7e000280, branch_if_scc1 = 0xbfa20000, end = 0xbfb00000;
  std::string code;
  auto add = [&](uint32_t word) { code.append(reinterpret_cast<const char*>(&word), 4); };
  for (size_t n = 0; n < texts.size(); n++) add(move);
  add(branch_if_scc1 | uint32_t(0xffff - texts.size())), add(end);
  const std::string elf = make_elf({code, kBase});
  std::vector<uint64_t> memory(1 << 12);
  auto* log = new (memory.data()) hip::TraceLog{.capacity_bytes = 8 * (memory.size() - 8)};
  log->append(hip::TraceRecord::Module, 7, elf);
  log->append(hip::TraceRecord::Launch, 7, std::string("gfx1100 ") + name);
  const uint64_t branch = kBase + 4 * texts.size();
  for (uint32_t wave = 0; wave < loops.size(); wave++) {
    auto event = [&](TraceEvent type, uint64_t address) { log->add_event(encode_trace_event(type, wave, address)); };
    log->add_event(hip::encode_lanes_event(wave, 32));
    event(TraceEvent::Started, kBase);
    for (uint32_t k = 0; k < loops[wave]; k++) {
      for (size_t n = 0; n < texts.size(); n++) event(TraceEvent::Executed, kBase + 4 * n);
      event(k + 1 < loops[wave] ? TraceEvent::Jumped : TraceEvent::Executed, branch);
    }
    event(TraceEvent::Ended, branch + 4);
  }
  auto trace = parse_trace(std::move(profile_of_log(*log).value_or_throw()));
  Run out{.profile = std::move(analyze_profile(std::move(trace.value_or_throw()), {}).value_or_throw())};
  for (size_t n = 0; n < texts.size(); n++) out.listing[kBase + 4 * n] = texts[n];
  out.listing[branch] = "s_cbranch_scc1 65533", out.listing[branch + 4] = "s_endpgm";
  out.stalls = stalls_of_run(out.profile, 0, out.listing);
  return out;
}

void add_stall(Run& run, StallReason reason, uint64_t cycles) {
  run.stalls.instructions[0].times_by_reason[size_t(reason)] += {cycles, cycles};
  run.stalls.times_by_reason[size_t(reason)] += {cycles, cycles};
  run.stalls.total_cycles += cycles;
}

const SpeedHint* hint_of(const std::vector<SpeedHint>& speed_hints, std::string_view id) {
  auto found = std::ranges::find(speed_hints, id, &SpeedHint::id);
  return found == speed_hints.end() ? nullptr : &*found;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("hints: no hint contradicts one with a larger gain") {
  const std::vector<std::string> texts{"v_add_f32_e32 v0, v0, v1"};
  Run run = run_of(texts, {4});
  add_stall(run, StallReason::Fetch, 6000);
  add_stall(run, StallReason::Dependency, 2000);
  std::vector<SpeedHint> list = run.found();  // shorter code needs less UNROLL: independent operations would need more
  REQUIRE(hint_of(list, "instruction-fetch"));
  CHECK(has(hint_of(list, "instruction-fetch")->advice_text, "UNROLL less"));
  CHECK_FALSE(hint_of(list, "dependency"));
  run = run_of(texts, {4});
  add_stall(run, StallReason::Fetch, 2000);
  add_stall(run, StallReason::Dependency, 6000);
  list = run.found();
  REQUIRE(hint_of(list, "dependency"));
  CHECK(has(hint_of(list, "dependency")->advice_text, "Opt(OptOps.UNROLL, 0, 4)"));
  for (const SpeedHint& h : list) CHECK_FALSE(has(h.advice_text, " less"));
}

TEST_CASE("hints: an opt that the kernel does not have cannot be less") {
  Run run = run_of({"v_add_f32_e32 v0, v0, v1"}, {4});
  add_stall(run, StallReason::Fetch, 6000);
  CodeSource& source = run.profile.sources[run.profile.trace.runs[0].program];
  source.opts = "(Opt(op=OptOps.UPCAST, axis=0, arg=4),)";
  CHECK(hint_of(run.found(), "instruction-fetch")->advice_text == "make the code shorter: UPCAST less");
  source.opts = "()";
  CHECK(hint_of(run.found(), "instruction-fetch")->advice_text == "make the code shorter");
  run = run_of({"v_add_f32_e32 v0, v0, v1"}, {4}, "E_4");  // no reduction can be unrolled
  add_stall(run, StallReason::Dependency, 6000);
  CHECK(hint_of(run.found(), "dependency")->advice_text == "make independent operations: UPCAST more");
}

TEST_CASE("hints: bank conflicts are those of the instructions, whose width they name") {
  Run run = run_of({"ds_load_b128 v[0:3], v9", "s_waitcnt lgkmcnt(0)"}, {4});
  CodeSource& source = run.profile.sources[run.profile.trace.runs[0].program];
  source.lines = {"float val0 = *(temp0+(lidx0*32+Lidx0));"};
  source.line_by_address[kBase] = {1};
  // the source line loads one float for each lane, and the compiler made it a part of a load of 16 bytes
  BankAccess access{.num_lanes = 32, .lane_bytes = 4, .access_cycles = 32, .fewest_cycles = 1};
  for (int64_t lane = 0; lane < 32; lane++) access.addresses.push_back(lane * 128);
  source.accesses.push_back({.line = 1, .node = {3, "LOAD", "dtypes.float"}, .bank_access = access});
  const std::vector<SpeedHint> list = run.found();
  const SpeedHint* hint = hint_of(list, "bank-conflicts");
  REQUIRE(hint);
  CHECK(has(hint->measured_text, "by ds_load_b128"));
  CHECK(has(hint->measured_text, "16 bytes for each of 32 lanes in 32 cycles instead of 4"));
  CHECK(has(hint->advice_text, "by 16 bytes"));
}

TEST_CASE("hints: imbalance names the wave, and the instruction and line that it executes more often") {
  Run run = run_of({"v_add_f32_e32 v0, v0, v1"}, {2, 2, 40, 2});
  CodeSource& source = run.profile.sources[run.profile.trace.runs[0].program];
  source.lines = {"for (int i = 0; i < n; i++)", "s += in[i];"};
  source.line_by_address[kBase] = {2};
  const std::vector<SpeedHint> list = run.found();
  const SpeedHint* hint = hint_of(list, "imbalance");
  REQUIRE(hint);
  CHECK(has(hint->measured_text, "followed wave 3 of shader engine 0 (wave 2 of its SIMD) issues 81 instructions"));
  CHECK(has(hint->measured_text, "'v_add_f32_e32 v0, v0, v1' (0x1000, line 2) 40 times, a mean wave 12 times"));
}

TEST_CASE("times of an emulated run are those of the model, not its counts of instructions") {
  const Run run = run_of({"global_load_b32 v0, v1, s[0:1]", "s_waitcnt vmcnt(0)"}, {1});
  const auto counted = run.profile.instruction_times_of_run(0),
             modeled = measured_or_modeled_times(run.profile, 0, run.stalls);
  REQUIRE(modeled.size() == 4);
  CHECK(modeled[1].num_executions == 1);
  CHECK(counted[1].cycles == 1);
  CHECK(modeled[1].cycles > 250);  // the latency of global memory
  CHECK(modeled[1].stall_cycles == modeled[1].cycles - 1);
}

}  // namespace tgc::profile
