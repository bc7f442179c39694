// The properties of an AMD GPU's instruction that matter for stalls, read from the text that LLVM prints: its unit, the
// counters that it raises and waits for, and the registers that it reads and writes.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/profile/kernel_code.h"

namespace tgc::profile {

// The hardware's counters of operations of a wave that have not ended. RDNA3 has Load, Store, Lgkm (local memory,
// scalar memory, messages) and Export. CDNA has these without Store, because Load counts stores, too. RDNA4 has Lds and
// Scalar in place of Lgkm, and Sample and Bvh. Count is the number of counters.
enum class WaitCounter : uint8_t { Load, Store, Lgkm, Export, Lds, Scalar, Sample, Bvh, Count };
inline constexpr size_t kWaitCounters = size_t(WaitCounter::Count);


struct InstructionRole {
  struct Wait {
    WaitCounter counter;
    uint32_t max_outstanding = 0;  // the wait ends when at most this many of the counter's operations are pending
  };
  InstructionUnit unit = InstructionUnit::Other;
  // counters that it raises; a flat access raises several, because it may be to global or to local memory
  std::vector<WaitCounter> raised_counters;
  std::vector<Wait> waits;
  bool is_store = false;            // true for stores, and atomics on global memory that return no value
  bool is_scratch = false;          // true if it accesses a lane's private memory: spilled registers, or arrays
  bool is_end = false;              // true for s_endpgm
  uint32_t lane_bytes = 0;               // for an access to memory: the bytes that each lane accesses
  uint32_t num_addresses = 1;              // 2 if these bytes are at two addresses: ds_load_2addr_b32
  std::vector<uint16_t> read_registers, written_registers;  // numbers of registers, sorted
  bool depends_on(const InstructionRole& earlier) const;  // true if it reads or writes a register that `earlier` writes
};

InstructionRole role_of(std::string_view assembly, Isa isa);

// is_digit returns true for a digit; is_word returns true for a character of a name or number in assembly.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace tgc::profile
