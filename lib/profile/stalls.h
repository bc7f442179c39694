// Finds out why waves stall: divides the stalls of each instruction by reasons, and each wait among the instructions
// that it waits for. Decodes the traces again, so it is used only for reports about instructions.
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
  Memory,        // a wait for accesses to global memory, or for their unit, which accepts no more
  Lds,           // as Memory, for local memory
  ScalarMemory,  // as Memory, for scalar loads
  Dependency,    // the instruction needs the result of one of the wave's last instructions
  Fetch,         // the instruction is in another line of the instruction cache, or is the target of a branch
  Barrier,       // the wave waits at a barrier
  Export,        // as Memory, for exports
  StartUp,       // before a wave's first instruction, and before an s_endpgm that waits for no stores
  Arbiter,       // all else: the SIMD issued instructions of other waves, or the unit was busy
  Count
};
inline constexpr size_t kStallReasons = size_t(StallReason::Count);
std::string_view stall_reason_name(StallReason reason);  // "scalar memory"

struct StallTime {
  uint64_t cycles = 0;
  uint64_t idle_cycles = 0;  // part of `cycles` in which no other wave of the SIMD issued an instruction
  StallTime& operator+=(const StallTime& t) { return cycles += t.cycles, idle_cycles += t.idle_cycles, *this; }
};
using StallTimes = std::array<StallTime, kStallReasons>;

struct InstructionStalls {
  // by reason; in a trace of hardware, the sum of `cycles` is InstructionTimes::stall_cycles
  StallTimes times_by_reason;
  StallTime waits_for_result;     // time of waits for this instruction; a wait for several is divided among them
  // for a wait: its time, by number of the instruction that it waits for
  std::map<uint32_t, StallTime> waits_by_instruction;
};
// A wave of SIMD 0 of compute unit 0, whose instructions are followed.
struct FollowedWave {
  size_t event = 0;         // index of its trace in Trace::sqtt
  size_t number = 0;        // index of the wave among the followed waves of this trace
  uint32_t wave = 0;        // its place on the SIMD, which later waves use again
  uint64_t num_issued = 0;  // number of instructions that it issued
};
struct StallReport {
  std::vector<InstructionStalls> instructions;  // by instruction; empty without a listing or fitting traces
  std::vector<InstructionRole> roles;           // by instruction
  StallTimes times_by_reason;       // sums over all instructions
  uint64_t total_cycles = 0;      // of all instructions, including those of their issue
  uint32_t resident_waves = 0;  // most waves that the traced SIMD has at a time; by the model for an emulated run
  bool is_modeled = false;  // true for an emulated run: the times are those of a model (README.md)
  std::vector<uint32_t> busy_cycles;      // for a modeled run: by instruction, cycles in which it occupies its unit
  std::vector<FollowedWave> followed_waves;        // in the order of the traces
  // Returns the reason with the largest share of an instruction's stalls.
  static StallReason main_reason(const InstructionStalls& i);
};

// Returns the roles of a run's instructions, by number.
std::vector<InstructionRole> roles_of(const Profile& profile, size_t kernel, const Listings::Listing& listing);

StallReport stalls_of(const Profile& profile, size_t kernel, const Listings::Listing& listing);

// Returns how often a wave issued each instruction, by number. Decodes its trace again.
std::vector<uint64_t> issues_of_wave(const Profile& profile, size_t kernel, const FollowedWave& wave);

// Returns the times of a run's instructions, by number: those of its traces, or those of the model for an emulated run,
// whose traces only count instructions.
std::vector<InstructionTimes> times_of(const Profile& profile, size_t kernel, const StallReport& stalls);

// Returns the reasons with shares of at least 0.1 %, and the instructions that are waited for most, as lines of text.
// Returns "" without stalls.
std::string stalls_text(const Profile& profile, size_t kernel, const StallReport& stalls,
                        const Listings::Listing& listing);
// Returns the text of an instruction, at most 80 characters of it; "" if the listing does not have it.
std::string instruction_text(const Profile& profile, size_t kernel, uint32_t instruction,
                             const Listings::Listing& listing);
// Returns where an instruction is: "0x1778, line 16, 35 LOAD float", or "0x1778" if its line is unknown.
std::string instruction_place(const Profile& profile, size_t kernel, uint32_t instruction);
// Returns the instructions that `instruction` waits for, the longest wait first, such as
// "0x1778 (line 16, 35 LOAD float), 0x176c". Names at most four, then ", ..."; "" if it waits for none.
std::string waits_text(const Profile& profile, size_t kernel, const StallReport& stalls, uint32_t instruction);

}  // namespace tgc::profile
