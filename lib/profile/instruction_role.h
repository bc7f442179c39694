// Parses the text that LLVM prints for an AMD GPU's instruction into the properties that its stalls depend on.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/profile/kernel_code.h"

namespace tgc::profile {

// The hardware's counters of a wave's pending operations. Lgkm: local memory, scalar memory and messages. On CDNA, Load
// counts stores, too.
enum class WaitCounter : uint8_t { Load, Store, Lgkm, Export, Lds, Scalar, Sample, Bvh, Count };
inline constexpr size_t kNumWaitCounters = size_t(WaitCounter::Count);

struct InstructionRole {
  struct Wait {
    WaitCounter counter;
    uint32_t max_outstanding = 0;  // the wait ends when at most this many are pending
  };
  InstructionUnit unit = InstructionUnit::Other;
  // several for a flat access, which may be to global or local memory
  std::vector<WaitCounter> raised_counters;
  std::vector<Wait> waits;
  bool is_store = false;            // also for atomics of vector memory that return nothing
  bool is_scratch = false;          // private memory of a lane: spilled registers, or arrays
  bool is_program_end_op = false;
  uint32_t lane_bytes = 0;
  uint32_t num_addresses = 1;  // 2 for ds_load_2addr_b32
  std::vector<uint16_t> read_registers, written_registers;  // sorted
  bool depends_on(const InstructionRole& earlier) const;  // reads or writes a register that `earlier` writes
};

InstructionRole parse_role(std::string_view assembly, Isa isa);

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_word_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace tgc::profile
