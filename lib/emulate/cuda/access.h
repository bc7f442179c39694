// From the addresses that lanes compute to memory of the host, checked: shared by loads, stores, atomics and ldmatrix.
#pragma once
#include <bit>

#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/lanes.h"
#include "lib/emulate/cuda/launch.h"

namespace tgc::ptx {

// The space that a modifier names; Generic when none does.
Space take_space(Builder& b);
// Sets the address of `op`: its register a and the offset `value`.
void take_address(Builder& b, const Operand& o, Space space, Op& op);

// Compilers widen loads: NVRTC reads three floats at the end of an array as four. A GPU's memory goes on there, and so
// does ours (allocations are padded), so that of a vector that is loaded from global memory only the first element, of
// `inside` bytes, must have been allocated.

struct Addresses {
  alignas(64) uint64_t host[kLanes];  // of a lane that is not active, an active one's
  bool is_row = false;                // lane i's lies i times the access's size behind lane 0's
};

// What is no plain access: throws the Fault of the first lane that is not allowed to, else returns.
void check_lanes(Warp& w, const Op& o, Space space, uint32_t bytes, Access access, const Addresses& at,
                 uint32_t inside);
// The range that holds all of [from, to); null when none does.
inline const Range* find_range(const Warp& w, const Op& o, uint64_t from, uint64_t to) {
  return w.block->recent.find(w.block->launch->ranges, o.instruction, from, to);
}
// Notes stores of shared memory, reports loads of what nobody stored, and races.
void watch_lanes(Warp& w, const Op& o, Space space, uint32_t bytes, Access access, const Addresses& at);

template <Space kSpace>
void finish_addresses(Warp& w, const Op& o, uint32_t bytes, Access access, Addresses& at, uint32_t inside) {
  uint64_t low = at.host[0], high = at.host[0], bits = 0, off_row = 0;
  TGC_LANES {
    bits |= at.host[i];
    off_row |= at.host[i] ^ (at.host[0] + uint64_t(i) * bytes);
    low = at.host[i] < low ? at.host[i] : low;
    high = at.host[i] > high ? at.host[i] : high;
  }
  at.is_row = off_row == 0;
  bool fits = (bits & (bytes - 1)) == 0 && high + bytes > high;
  Block& block = *w.block;
  if constexpr (kSpace == Space::Global) fits = fits && find_range(w, o, low, high + (inside ? inside : bytes));
  if constexpr (kSpace == Space::Shared) fits = fits && high + bytes <= block.shared.size();
  if constexpr (kSpace == Space::Local) fits = fits && high + bytes <= block.launch->code->local_bytes;
  if (!fits) check_lanes(w, o, kSpace, bytes, access, at, inside ? inside : bytes);
  if constexpr (kSpace == Space::Shared) {
    uint64_t base = reinterpret_cast<uint64_t>(block.shared.data());
    TGC_LANES at.host[i] += base;
  }
  if constexpr (kSpace == Space::Local) {
    at.is_row = false;
    uint64_t base = reinterpret_cast<uint64_t>(block.local.data()), each = block.launch->code->local_bytes;
    uint64_t first = block.is_packed ? 0 : w.first_thread;
    uint64_t active_lane = uint64_t(std::countr_zero(w.active));
    TGC_LANES at.host[i] += base + (first + (w.active >> i & 1 ? uint64_t(i) : active_lane)) * each;
  }
  if (kSpace == Space::Shared || block.races) watch_lanes(w, o, kSpace, bytes, access, at);
}

template <Space kSpace>
bool find_addresses(Warp& w, const Op& o, uint32_t bytes, Access access, Addresses& at, Run again,
                    uint32_t inside = 0) {
  const uint64_t* a = reg<uint64_t>(w, o.a);
  const uint64_t offset = uint64_t(o.value);
  uint32_t active = w.active;
  if (active == UINT32_MAX) {
    TGC_LANES at.host[i] = a[i] + offset;
  } else {
    uint64_t other = a[std::countr_zero(active)] + offset;
    TGC_LANES at.host[i] = active >> i & 1 ? a[i] + offset : other;
  }
  if constexpr (kSpace == Space::Generic) {
    // lanes of several spaces take turns
    auto space_of = [](uint64_t x) {
      return x - kSharedWindow < kWindowBytes ? 1 : x - kLocalWindow < kWindowBytes ? 2 : 0;
    };
    uint32_t masks[3] = {};
    for (int i = 0; i < kLanes; i++) masks[space_of(at.host[i])] |= 1u << i;
    int spaces = (masks[0] != 0) + (masks[1] != 0) + (masks[2] != 0);
    if (spaces > 1) {
      for (uint32_t mask : masks) {
        w.active = active & mask;
        if (w.active) again(w, o);
      }
      w.active = active;
      return false;
    }
    if (masks[1]) {
      TGC_LANES at.host[i] -= kSharedWindow;
      finish_addresses<Space::Shared>(w, o, bytes, access, at, inside);
    } else if (masks[2]) {
      TGC_LANES at.host[i] -= kLocalWindow;
      finish_addresses<Space::Local>(w, o, bytes, access, at, inside);
    } else {
      finish_addresses<Space::Global>(w, o, bytes, access, at, inside);
    }
  } else {
    (void)again;
    finish_addresses<kSpace>(w, o, bytes, access, at, inside);
  }
  return true;
}

}  // namespace tgc::ptx
