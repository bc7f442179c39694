// From the addresses that lanes compute to memory of the host, checked. Accesses need not be aligned: AMD's driver
// turns that on.
#pragma once
#include "lib/emulate/hip/lanes.h"
#include "lib/emulate/hip/waits.h"

namespace tgc::hip {

enum class Space : uint8_t { Global, Flat, Private, Lds };

struct Addresses {
  alignas(64) uint64_t host[2 * kLanes];  // of the active lanes
  bool is_row = false;                    // all lanes are active, each 4 bytes behind the one before
};

// The range that holds all of [from, to); null when none does.
const Range* find_range(const Wave& w, const Op& o, uint64_t from, uint64_t to);
[[noreturn]] void refuse_scalar_load(const Wave& w, const Op& o, uint64_t from);

// The addresses of an access: its registers a and c, and its offset. Throws the Fault of the first lane that is not
// allowed to; notes what is watched.
template <Space kSpace>
void find_addresses(Wave& w, const Op& o, Access access, Addresses& to);

}  // namespace tgc::hip
