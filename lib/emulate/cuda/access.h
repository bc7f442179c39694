// Translates the addresses that lanes compute into checked host addresses.
#pragma once
#include <bit>

#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/driver.h"
#include "lib/emulate/cuda/lanes.h"

namespace tgc::ptx {

// Consumes the modifier for the address space and returns the space; Generic if there is no modifier.
Space parse_space(CodeBuilder& b);
// Sets op.a (a register) and op.immediate (an offset in bytes) from the address operand `o`.
void set_address(CodeBuilder& b, const Operand& o, Space space, Op& op);

// The addresses of an access. `num_checked_bytes`, in the functions below: the number of bytes that are checked in each
// lane of a load from global memory (in the templates, 0 stands for all). A vector load may check fewer bytes than it
// reads, because NVRTC reads three floats at the end of an array as four, which is harmless on a GPU.
struct LaneAddresses {
  alignas(64) uint64_t host[kNumLanes];  // inactive lanes have the address of an active lane
  bool is_contiguous = false;         // true only if lane i's address is lane 0's plus i times the access's size
};

// Checks each lane separately. Throws the KernelFault of the first failing lane.
void check_lane_accesses(Warp& w, const Op& o, Space space, uint32_t bytes, Access access, const LaneAddresses& at,
                         uint32_t num_checked_bytes);
// Returns the allocation that contains [from, to), or null.
inline const MemoryRange* find_range(const Warp& w, const Op& o, uint64_t from, uint64_t to) {
  return w.block->recent_ranges.find(w.block->launch->memory_ranges, o.instruction, from, to);
}
// Records stores to shared memory and, with --race, accesses to memory that threads share. Throws a KernelFault for a
// race, and for reading a byte of shared memory that no thread has stored.
void note_lane_accesses(Warp& w, const Op& o, Space space, uint32_t bytes, Access access, const LaneAddresses& at);

// Checks that the addresses are aligned and inside the space's memory; else throws KernelFault. Converts shared and
// local offsets to host addresses, and sets at.is_contiguous.
template <Space kSpace>
void convert_to_host_addresses(Warp& w, const Op& o, uint32_t bytes, Access access, LaneAddresses& at,
                               uint32_t num_checked_bytes) {
  uint64_t low = at.host[0], high = at.host[0], bits = 0, off_row = 0;
  TGC_LANES {
    bits |= at.host[i];
    off_row |= at.host[i] ^ (at.host[0] + uint64_t(i) * bytes);
    low = at.host[i] < low ? at.host[i] : low;
    high = at.host[i] > high ? at.host[i] : high;
  }
  at.is_contiguous = off_row == 0;
  bool fits = (bits & (bytes - 1)) == 0 && high + bytes > high;
  ThreadBlock& block = *w.block;
  if constexpr (kSpace == Space::Global)
    fits = fits && find_range(w, o, low, high + (num_checked_bytes ? num_checked_bytes : bytes));
  if constexpr (kSpace == Space::Shared) fits = fits && high + bytes <= block.shared_memory.size();
  if constexpr (kSpace == Space::Local) fits = fits && high + bytes <= block.launch->code->local_bytes;
  if (!fits) check_lane_accesses(w, o, kSpace, bytes, access, at, num_checked_bytes ? num_checked_bytes : bytes);
  if constexpr (kSpace == Space::Shared) {
    uint64_t base = reinterpret_cast<uint64_t>(block.shared_memory.data());
    TGC_LANES at.host[i] += base;
  }
  if constexpr (kSpace == Space::Local) {
    at.is_contiguous = false;
    uint64_t base = reinterpret_cast<uint64_t>(block.local_memory.data()), each = block.launch->code->local_bytes;
    uint64_t first = block.shares_warp ? 0 : w.first_thread;
    uint64_t active_lane = uint64_t(std::countr_zero(w.active_lanes));
    TGC_LANES at.host[i] += base + (first + (w.active_lanes >> i & 1 ? uint64_t(i) : active_lane)) * each;
  }
  if (kSpace == Space::Shared || block.race_detector) note_lane_accesses(w, o, kSpace, bytes, access, at);
}

// Computes and checks the host addresses of the access `o`, `bytes` per lane. Throws KernelFault. If the lanes use
// different spaces, calls `again` (which runs the whole access) for each space and returns false.
template <Space kSpace>
bool resolve_addresses(Warp& w, const Op& o, uint32_t bytes, Access access, LaneAddresses& at, OpFunction again,
                       uint32_t num_checked_bytes = 0) {
  const uint64_t* a = register_lanes<uint64_t>(w, o.a);
  const uint64_t offset = uint64_t(o.immediate);
  uint32_t active = w.active_lanes;
  if (active == UINT32_MAX) {
    TGC_LANES at.host[i] = a[i] + offset;
  } else {
    uint64_t other = a[std::countr_zero(active)] + offset;
    TGC_LANES at.host[i] = active >> i & 1 ? a[i] + offset : other;
  }
  if constexpr (kSpace == Space::Generic) {
    auto space_of = [](uint64_t x) {
      return x - kSharedWindowAddress < kMemoryWindowBytes ? 1 : x - kLocalWindowAddress < kMemoryWindowBytes ? 2 : 0;
    };
    uint32_t masks[3] = {};
    for (int i = 0; i < kNumLanes; i++) masks[space_of(at.host[i])] |= 1u << i;
    int spaces = (masks[0] != 0) + (masks[1] != 0) + (masks[2] != 0);
    if (spaces > 1) {
      for (uint32_t mask : masks) {
        w.active_lanes = active & mask;
        if (w.active_lanes) again(w, o);
      }
      w.active_lanes = active;
      return false;
    }
    if (masks[1]) {
      TGC_LANES at.host[i] -= kSharedWindowAddress;
      convert_to_host_addresses<Space::Shared>(w, o, bytes, access, at, num_checked_bytes);
    } else if (masks[2]) {
      TGC_LANES at.host[i] -= kLocalWindowAddress;
      convert_to_host_addresses<Space::Local>(w, o, bytes, access, at, num_checked_bytes);
    } else {
      convert_to_host_addresses<Space::Global>(w, o, bytes, access, at, num_checked_bytes);
    }
  } else {
    (void)again;
    convert_to_host_addresses<kSpace>(w, o, bytes, access, at, num_checked_bytes);
  }
  return true;
}

}  // namespace tgc::ptx
