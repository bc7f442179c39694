// Computes how the lanes of a wave access memory, from the index expressions of a kernel's linear list.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc::profile {

// The accesses of a wave's lanes to global memory in one LOAD or STORE.
struct LaneAccess {
  uint32_t num_lanes = 0;            // number of lanes that access memory
  uint32_t lane_bytes = 0;           // number of bytes that each lane accesses
  uint32_t num_lines = 0;            // number of cache lines that the lanes access
  uint32_t fewest_lines_needed = 0;  // fewest cache lines that could hold all bytes that the lanes access
  int64_t stride_bytes = 0;          // bytes from each lane's address to the next lane's; 0 if these distances differ
  std::vector<int64_t> addresses;    // by lane, in bytes from the beginning of the buffer
};
inline constexpr uint32_t kCacheLine = 128;  // bytes of a line of the L2 cache, and of RDNA's L0 and L1

// Returns the sizes of a kernel's work group along x, y and z.
std::array<int64_t, 3> group_sizes(std::span<const UOp> list);

// Returns how the first wave of the first work group accesses memory in the first iteration of all loops. `access` is a
// LOAD or STORE of a linear list. Returns nullopt if it does not access global memory, if its address is unknown (for
// example, because it depends on loaded values), or if fewer than two lanes access memory.
std::optional<LaneAccess> lane_access(UOp access, uint32_t wave_size, const std::array<int64_t, 3>& sizes);

// The accesses of a wave's lanes to local memory, which has 32 banks of 4 bytes, in one LOAD or STORE.
struct BankAccess {
  uint32_t num_lanes = 0, lane_bytes = 0;  // number of lanes that access memory; bytes that each lane accesses
  // cycles of the access; lanes that need different words of the same bank take turns
  uint32_t access_cycles = 0;
  uint32_t fewest_cycles = 0;      // cycles that the access would take without such conflicts
  std::vector<int64_t> addresses;  // as in LaneAccess
};
// As lane_access(), for an access to local memory.
std::optional<BankAccess> bank_access(UOp access, uint32_t wave_size, const std::array<int64_t, 3>& sizes);

// Return the access of an instruction that a compiler made of this access and neighbouring ones: each lane accesses
// `bytes` consecutive bytes, if these are more than those of `access`. `places` is the number of places at which the
// instruction does so: 2 for ds_load_2addr_b32.
LaneAccess merged_access(const LaneAccess& access, uint32_t bytes);
BankAccess merged_access(const BankAccess& access, uint32_t bytes, uint32_t places);

// Returns the innermost loop, a RANGE, that the address of an access depends on; null if it depends on none,
// and if the access is neither to global nor to local memory.
UOp loop_of(UOp access);

// Returns the address in the second iteration of `loop`, a RANGE around `access`, minus that in the first, in bytes.
// Returns nullopt if the access is not to global memory, or if its address is unknown.
std::optional<int64_t> loop_stride(UOp access, UOp loop);

// Returns the offset in its buffer, in bytes, of the address that the first thread accesses in the first iteration of
// all loops. Returns nullopt as loop_stride().
std::optional<int64_t> first_address(UOp access);

}  // namespace tgc::profile
