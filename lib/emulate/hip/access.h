// From the addresses that lanes compute to memory of the host, checked. Accesses need not be aligned: AMD's driver
// turns that on.
#pragma once
#include "lib/emulate/hip/builder.h"
#include "lib/emulate/hip/lanes.h"
#include "lib/emulate/hip/launch.h"

namespace tgc::hip {

enum class Space : uint8_t { Global, Flat, Private, Lds };

struct Addresses {
  alignas(64) uint64_t host[2 * kLanes];  // of the active lanes
  bool is_row = false;                    // all lanes are active, each 4 bytes behind the one before
};

// The range that holds all of [from, to); null when none does.
inline const Range* find_range(const Wave& w, const Op& o, uint64_t from, uint64_t to) {
  return w.group->recent.find(w.group->launch->ranges, o.instruction, from, to);
}
[[noreturn]] void refuse_scalar_load(const Wave& w, const Op& o, uint64_t from);

// The addresses of an access: its registers a and c, and its offset. Throws the Fault of the first lane that is not
// allowed to; notes what is watched.
template <Space kSpace>
void find_addresses(Wave& w, const Op& o, Access access, Addresses& to);

// Notes an access of the host's memory where races are looked for. Throws the Fault of one.
void watch_race(Wave& w, const Op& o, uint32_t lane, uint64_t address, uint32_t bytes, Access access);

// ---- the operands of an access
// The modifiers that an access may have: offsets, and what says something about caches.
void allow_offset_and_caches(const Builder& b);
// "global_", "flat_", "scratch_", "ds_"
Space space_of(std::string_view name);
// Address operands: "v[0:1], off", "v0, s[2:3]", "off, s3", or of LDS "v0".
void take_address(Builder& b, Op& op, Space space, const Operand& vector, const Operand* scalar);

}  // namespace tgc::hip
