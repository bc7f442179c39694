// Computes how the lanes of a wave access memory, from the index expressions of a kernel's linear list.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/uop/uop.h"

namespace tgc::profile {

// A wave's accesses to global memory in one LOAD or STORE.
struct LaneAccess {
  uint32_t num_lanes = 0;
  uint32_t lane_bytes = 0;
  uint32_t num_cache_lines = 0;
  uint32_t fewest_cache_lines = 0;  // fewest lines for the bytes, if lanes share either all of their bytes or none
  int64_t stride_bytes = 0;          // bytes from each lane's address to the next lane's; 0 if they differ
  std::vector<int64_t> addresses;    // of the `num_lanes` lanes, in bytes from the buffer's beginning
};
inline constexpr uint32_t kCacheLineSize = 128;  // bytes of a line of the L2 cache

// Returns the sizes of a kernel's work group along x, y and z.
std::array<int64_t, 3> group_sizes(std::span<const UOp> list);

// Returns how the first wave of the first work group executes a LOAD or STORE, with loops and variables at 0. Returns
// nullopt if the access is not to global memory, if an address is unknown, or if fewer than two lanes access memory.
std::optional<LaneAccess> lane_access(UOp access, uint32_t wave_size, const std::array<int64_t, 3>& sizes);

// A wave's accesses to local memory, which has 32 banks of 4 bytes, in one LOAD or STORE.
struct BankAccess {
  uint32_t num_lanes = 0, lane_bytes = 0;
  // cycles of the access, in which lanes that need different words of the same bank take turns
  uint32_t access_cycles = 0;
  uint32_t fewest_cycles = 0;      // cycles if no two lanes needed different words of a bank
  std::vector<int64_t> addresses;
};
// As lane_access(), for an access to local memory.
std::optional<BankAccess> bank_access(UOp access, uint32_t wave_size, const std::array<int64_t, 3>& sizes);

// Return the access of an instruction into which a compiler merged several accesses. Each lane accesses `bytes`
// consecutive bytes, or those of `access` if these are more. With `places`, it does so at that many addresses.
LaneAccess merged_access(const LaneAccess& access, uint32_t bytes);
BankAccess merged_access(const BankAccess& access, uint32_t bytes, uint32_t places);

// Returns the last RANGE, in topological order, of an access's address: usually the innermost loop. Returns null
// if there is none, or if the access is to neither global nor local memory.
UOp loop_of_access(UOp access);

// Returns the bytes from the address in the first iteration of `loop` to that in the second; nullopt if the access is
// not to global memory, or if its address is unknown.
std::optional<int64_t> loop_stride(UOp access, UOp loop);

// Returns the offset in bytes that the first thread accesses in the first iteration of all loops; nullopt in the same
// cases as loop_stride().
std::optional<int64_t> first_address(UOp access);

}  // namespace tgc::profile
