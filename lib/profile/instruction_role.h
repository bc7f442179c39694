// The role of an instruction of an AMD GPU in stalls: the counters that it raises and waits for, its unit, and the
// registers that it reads and writes. All are read from the text that LLVM prints.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/profile/kernel_code.h"

namespace tgc::profile {

// Counters of operations that have not ended. RDNA3 and CDNA have Load, Store (CDNA counts stores with loads), Lgkm
// (local memory, scalar memory, messages) and Export; RDNA4 has Lds and Scalar in place of Lgkm, and Sample and Bvh.
enum class WaitCounter : uint8_t { Load, Store, Lgkm, Export, Lds, Scalar, Sample, Bvh, Count };
inline constexpr size_t kWaitCounters = size_t(WaitCounter::Count);


struct InstructionRole {
  struct Wait {
    WaitCounter counter;
    uint32_t most = 0;  // operations that may be pending when the wait ends
  };
  InstructionUnit unit = InstructionUnit::Other;
  std::vector<WaitCounter> raises;  // several for a flat access: it may be to global or to local memory
  std::vector<Wait> waits;
  bool is_store = false;            // writes memory
  bool is_scratch = false;          // accesses private memory of a lane: of registers that were spilled, or of arrays
  bool is_end = false;              // s_endpgm
  uint32_t bytes = 0;               // of a memory access: those of each lane
  std::vector<uint16_t> reads, writes;  // registers, sorted

  bool depends_on(const InstructionRole& earlier) const;  // reads or writes a register that `earlier` writes
};

InstructionRole role_of(std::string_view assembly, Isa isa);

// For scans of assembly: names and numbers consist of words.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace tgc::profile
