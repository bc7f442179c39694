// How the lanes of a wave access memory, by the index expressions of a kernel's linear list.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/uop/uop.h"

namespace tgc::profile {

// How the lanes of a wave access memory: from the index expression of each load and store of a kernel.
struct LaneAccess {
  uint32_t lanes = 0;           // lanes that access memory
  uint32_t bytes = 0;           // bytes that each lane accesses
  uint32_t lines = 0;           // different cache lines that they touch
  uint32_t fewest_lines = 0;    // fewest cache lines that could hold the different bytes that the lanes access
  int64_t stride = 0;           // bytes from one lane's to the next one's; 0: not the same for all lanes
};
inline constexpr uint32_t kCacheLine = 128;  // bytes, of the L2 cache and of RDNA's L0 and L1

// The sizes of a kernel's work group along x, y and z.
std::array<int64_t, 3> group_sizes(std::span<const UOp> list);

// Returns how the first wave of the first work group accesses memory in the first iteration of all loops. `access` is a
// LOAD or STORE of a linear list. Empty if it is not of global memory, or if its address depends on loaded values.
std::optional<LaneAccess> lane_access(UOp access, uint32_t wave_size, const std::array<int64_t, 3>& sizes);

// How the lanes of a wave access local memory, which has 32 banks of 4 bytes.
struct BankAccess {
  uint32_t lanes = 0, bytes = 0;  // that access it; bytes of each
  uint32_t cycles = 0;            // that the access takes: lanes that need different words of one bank take turns
  uint32_t fewest = 0;            // cycles without such lanes
};
// As lane_access(), of an access to local memory.
std::optional<BankAccess> bank_access(UOp access, uint32_t wave_size, const std::array<int64_t, 3>& sizes);

// Returns the innermost loop, a RANGE, that the address of an access depends on. Empty: on none.
UOp loop_of(UOp access);

// Returns how many bytes later the second iteration of `loop`, a RANGE around `access`, accesses memory than the first
// one. Empty as lane_access().
std::optional<int64_t> loop_stride(UOp access, UOp loop);

// Returns how many bytes behind the begin of its buffer the first iteration of all loops accesses memory. Empty as
// lane_access().
std::optional<int64_t> first_address(UOp access);

}  // namespace tgc::profile
