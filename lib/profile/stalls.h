// Divides the stalls of each instruction by reasons, and each wait among the instructions that it waits for.
#pragma once
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/instruction_role.h"
#include "lib/profile/profile.h"
#include "lib/profile/report.h"

namespace tgc::profile {

enum class StallReason : uint8_t {
  Memory,        // a wait for accesses to global memory, or for their unit
  Lds,           // as Memory, for local memory
  ScalarMemory,  // as Memory, for scalar loads
  Dependency,    // a wait for the result of one of the wave's last instructions
  Fetch,         // a fetch of another line of the instruction cache, or of a branch's target
  Barrier,
  Export,        // as Memory, for exports
  StartUp,       // before the first instruction, and before an s_endpgm that waits for no stores
  Arbiter,       // all else: other waves issued, or the unit was busy
  Count
};
inline constexpr size_t kNumStallReasons = size_t(StallReason::Count);
std::string_view stall_reason_name(StallReason reason);

struct StallTime {
  uint64_t cycles = 0;
  uint64_t idle_cycles = 0;  // part of `cycles` in which no other wave of the SIMD issued
  StallTime& operator+=(const StallTime& t) { return cycles += t.cycles, idle_cycles += t.idle_cycles, *this; }
};
using StallTimes = std::array<StallTime, kNumStallReasons>;

struct InstructionStalls {
  // by reason; if the GPU was not emulated, the sum is InstructionTimes::stall_cycles
  StallTimes times_by_reason;
  StallTime waits_for_result;     // waits for this instruction; a wait for several is divided among them
  // if this is a wait or s_endpgm: its waits, by the instruction that it waits for
  std::map<uint32_t, StallTime> waits_by_instruction;
};
// A wave of SIMD 0 of compute unit 0.
struct FollowedWave {
  size_t event_index = 0;
  size_t number = 0;        // among the followed waves of this trace
  uint32_t wave = 0;        // slot on the SIMD, which later waves use again
  uint64_t num_issued = 0;
};
struct StallReport {
  std::vector<InstructionStalls> instructions;  // empty without a listing or fitting traces
  std::vector<InstructionRole> roles;
  StallTimes times_by_reason;
  uint64_t total_cycles = 0;      // of all instructions, including their issue
  uint32_t num_resident_waves = 0;  // most waves that the traced SIMD has at a time; if modeled, that a SIMD would have
  bool is_modeled = false;  // the GPU was emulated: times are those of a model (README.md)
  std::vector<uint32_t> busy_cycles;      // by instruction, if modeled: cycles in which it occupies its unit
  std::vector<FollowedWave> followed_waves;
  static StallReason main_stall_reason(const InstructionStalls& i);
};

std::vector<InstructionRole> roles_of_run(const Profile& profile, size_t run_index,
                                          const ProgramListings::Listing& listing);

StallReport stalls_of_run(const Profile& profile, size_t run_index, const ProgramListings::Listing& listing);

// Returns by instruction how often a wave issued it. Decodes the trace again.
std::vector<uint64_t> issues_of_wave(const Profile& profile, size_t run_index, const FollowedWave& wave);

// Returns times by instruction: those of the traces, or of the model for an emulated run.
std::vector<InstructionTimes> measured_or_modeled_times(const Profile& profile, size_t run_index,
                                                        const StallReport& stalls);

// Returns the main reasons and the instructions that are waited for most; "" without stalls.
std::string stalls_text(const Profile& profile, size_t run_index, const StallReport& stalls,
                        const ProgramListings::Listing& listing);
// Returns the assembly, cut to 80 bytes; "" if the listing does not have the instruction.
std::string instruction_text(const Profile& profile, size_t run_index, uint32_t instruction,
                             const ProgramListings::Listing& listing);
// Returns "0x1778, line 16, 35 LOAD float", or "0x1778" if the line is unknown.
std::string instruction_location(const Profile& profile, size_t run_index, uint32_t instruction);
// Returns up to four instructions that `instruction` waits for, the longest wait first:
// "0x1778 (line 16, 35 LOAD float), 0x176c".
std::string waits_text(const Profile& profile, size_t run_index, const StallReport& stalls, uint32_t instruction);

}  // namespace tgc::profile
