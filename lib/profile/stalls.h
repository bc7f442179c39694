// Why waves stall: each stall of an instruction by its reason, and each wait traced to the instructions that it waits
// for. A second pass over the traces, only for reports about instructions.
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
  Memory,        // global memory: a wait for loads or stores, or its unit takes no more
  Lds,           // the same of local memory
  ScalarMemory,  // the same of scalar loads
  Dependency,    // the instruction needs the result of one that was issued a few cycles before
  Fetch,         // the instruction is in another line of the instruction cache, or is the target of a branch
  Barrier,
  Export,
  StartUp,       // before a wave's first instruction, and after its last one
  Arbiter,       // the SIMD issued instructions of other waves, or the unit was busy
  Count
};
inline constexpr size_t kStallReasons = size_t(StallReason::Count);
std::string_view stall_reason_name(StallReason reason);  // "scalar memory"

struct StallTime {
  uint64_t cycles = 0;
  uint64_t idle = 0;  // in which no other wave of the SIMD issued an instruction
  StallTime& operator+=(const StallTime& t) { return cycles += t.cycles, idle += t.idle, *this; }
};
using StallTimes = std::array<StallTime, kStallReasons>;

struct InstructionStalls {
  StallTimes reasons;       // the sum of `cycles` is InstructionTimes::stall
  StallTime waited_for;     // the time that waits for this instruction took; one for several is shared by them
  std::map<uint32_t, StallTime> waits_for;  // of a wait: the time by instruction that it waits for
};
struct StallReport {
  std::vector<InstructionStalls> instructions;  // by number; empty: the run has no traces that fit its code
  std::vector<InstructionRole> roles;           // by number
  StallTimes reasons;
  uint64_t cycles = 0;      // of all instructions, with those of their issue
  uint32_t resident = 0;    // waves of the traced SIMD at a time, at most
  bool is_modeled = false;  // of an emulated run: the times are those of a model (README.md)
  std::vector<uint32_t> turns;            // of a model, by instruction: cycles in which an access occupies its unit
  std::vector<uint64_t> issues_of_waves;  // instructions that each followed wave issued

  // The reason with the most time of an instruction's stalls.
  static StallReason main_reason(const InstructionStalls& i);
};

// The roles of a run's instructions, by number.
std::vector<InstructionRole> roles_of(const Profile& profile, size_t kernel, const Listings::Listing& listing);

StallReport stalls_of(const Profile& profile, size_t kernel, const Listings::Listing& listing);

// Lines for people: the reasons with their shares, and the instructions that are waited for most. Empty: no stalls.
std::string stalls_text(const Profile& profile, size_t kernel, const StallReport& stalls,
                        const Listings::Listing& listing);
// Returns the text of an instruction, at most 80 characters of it; "" if the listing does not have it.
std::string instruction_text(const Profile& profile, size_t kernel, uint32_t instruction,
                             const Listings::Listing& listing);
// "0x1778, line 16, 35 LOAD float": where an instruction is.
std::string instruction_place(const Profile& profile, size_t kernel, uint32_t instruction);
// "0x1778 (line 16, 35 LOAD float), 0x176c": the instructions that `instruction` waits for, those with the most time
// first; empty: it waits for none.
std::string waits_text(const Profile& profile, size_t kernel, const StallReport& stalls, uint32_t instruction);

}  // namespace tgc::profile
