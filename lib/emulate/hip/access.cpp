#include "lib/emulate/hip/access.h"

#include <algorithm>

namespace tgc::hip {
namespace {

const char* verb(Access access) {
  return access == Access::Load ? "reads" : access == Access::Store ? "stores" : "changes";
}
std::string what_at(Access access, uint32_t bytes, const std::string& place) {
  return std::string(verb(access)) + " " + std::to_string(bytes) + " bytes at " + place;
}

// What the lanes compute, before it is looked up.
void compute(const Wave& w, const Op& o, Addresses& to) {
  uint64_t base = (uint64_t(w.s[o.c.place]) | (o.narrow_base ? 0 : uint64_t(w.s[o.c.place + 1]) << 32)) +
                  uint64_t(int64_t(o.offset));
  for (int half = 0; half < int(w.halves); half++) {
    uint64_t* at = to.host + half * kLanes;
    Lanes<uint32_t> room;
    const uint32_t* low = words(w, o.a, half, 0, room);
    if (o.wide_address) {
      const uint32_t* high = w.vector(o.a.place + 1, uint32_t(half));
      TGC_LANES at[i] = base + (uint64_t(low[i]) | uint64_t(high[i]) << 32);
    } else {
      TGC_LANES at[i] = base + low[i];
    }
  }
}

// The lowest and the highest of the active lanes' addresses.
Range bounds(const Wave& w, const Addresses& to) {
  uint64_t low = UINT64_MAX, high = 0;
  for (int half = 0; half < int(w.halves); half++) {
    const uint64_t* at = to.host + half * kLanes;
    uint32_t active = w.exec(uint32_t(half));
    TGC_LANES {
      bool is_active = active >> i & 1;
      low = is_active && at[i] < low ? at[i] : low;
      high = is_active && at[i] > high ? at[i] : high;
    }
  }
  return {low, high};
}

void check_global(Wave& w, const Op& o, Access access, const Addresses& to) {
  auto [low, high] = bounds(w, to);
  if (high + o.bytes > high && find_range(w, o, low, high + o.bytes)) return;
  each_active(w, [&](uint32_t lane) {
    uint64_t from = to.host[lane], end = from + o.bytes;
    if (end < from || !find_range(w, o, from, end))
      raise(w, o, lane, kIllegalAddress,
            what_at(access, o.bytes, hex(from)) + ", " + place_in(w.group->launch->ranges, from, end));
  });
}

// Offsets into the memory of a group or a thread become addresses of the host.
void check_lane(Wave& w, const Op& o, Access access, uint32_t lane, uint64_t& at, bool is_private) {
  uint64_t size = is_private ? w.code->descriptor.private_bytes : w.group->memory.size();
  if (at > size || size - at < o.bytes)
    raise(w, o, lane, kIllegalAddress,
          what_at(access, o.bytes, std::to_string(int64_t(at)) + " of " + std::to_string(size)) + " bytes of " +
              (is_private ? "private" : "shared") + " memory");
  std::byte* base = is_private ? w.own_memory + lane * size : w.group->memory.data();
  if (!is_private) {
    uint8_t* stored = w.group->stored.data() + at;
    if (access == Access::Store) std::memset(stored, 1, o.bytes);
    else if (std::memchr(stored, 0, o.bytes))
      raise(w, o, lane, kLaunchFailed,
            what_at(access, o.bytes, std::to_string(at)) + " of shared memory, where nothing was stored before");
  }
  at += reinterpret_cast<uint64_t>(base);
}

}  // namespace

const Range* find_range(const Wave& w, const Op& o, uint64_t from, uint64_t to) {
  Range& recent = w.group->recent[o.instruction % 64];
  if (recent.contains(from, to)) return &recent;
  const std::vector<Range>& ranges = w.group->launch->ranges;
  auto after = std::ranges::upper_bound(ranges, from, {}, &Range::begin);
  if (after == ranges.begin() || !std::prev(after)->contains(from, to)) return nullptr;
  recent = *std::prev(after);
  return &recent;
}

void refuse_scalar_load(const Wave& w, const Op& o, uint64_t from) {
  raise(w, o, 0, kIllegalAddress,
        what_at(Access::Load, 4u * o.words, hex(from)) + ", " +
            place_in(w.group->launch->ranges, from, from + 4u * o.words));
}

template <Space kSpace>
void find_addresses(Wave& w, const Op& o, Access access, Addresses& to) {
  compute(w, o, to);
  if constexpr (kSpace == Space::Global) {
    check_global(w, o, access, to);
  } else if constexpr (kSpace == Space::Flat) {
    bool is_global = true;
    each_active(w, [&](uint32_t lane) {
      uint64_t& at = to.host[lane];
      bool is_group = at - kGroupWindow < kWindowBytes, is_private = at - kPrivateWindow < kWindowBytes;
      if (is_group || is_private)
        is_global = false, at -= is_group ? kGroupWindow : kPrivateWindow,
        check_lane(w, o, access, lane, at, is_private);
      else if (!find_range(w, o, at, at + o.bytes))
        raise(w, o, lane, kIllegalAddress,
              what_at(access, o.bytes, hex(at)) + ", " + place_in(w.group->launch->ranges, at, at + o.bytes));
    });
    if (!is_global) return;
  } else if constexpr (kSpace == Space::Private) {
    uint64_t size = w.code->descriptor.private_bytes, base = reinterpret_cast<uint64_t>(w.own_memory);
    uint64_t high = bounds(w, to).end;
    if (high <= size && size - high >= o.bytes)
      for (uint32_t lane = 0; lane < w.halves * kLanes; lane++) to.host[lane] += base + lane * size;
    else each_active(w, [&](uint32_t lane) { check_lane(w, o, access, lane, to.host[lane], true); });
  } else {
    each_active(w, [&](uint32_t lane) {
      to.host[lane] &= UINT32_MAX;
      check_lane(w, o, access, lane, to.host[lane], false);
    });
  }
  bool all = w.exec() == (w.halves == 2 ? UINT64_MAX : UINT32_MAX);
  if (all && kSpace != Space::Private) {
    uint64_t off_row = 0;
    for (int half = 0; half < int(w.halves); half++) {
      const uint64_t* at = to.host + half * kLanes;
      TGC_LANES off_row |= at[i] ^ (at[0] + uint64_t(i) * 4);
    }
    to.is_row = off_row == 0;
  }
  if (w.group->races && kSpace != Space::Private)
    each_active(w, [&](uint32_t lane) { w.group->races->note(w, o, lane, to.host[lane], o.bytes, access); });
}

template void find_addresses<Space::Global>(Wave&, const Op&, Access, Addresses&);
template void find_addresses<Space::Flat>(Wave&, const Op&, Access, Addresses&);
template void find_addresses<Space::Private>(Wave&, const Op&, Access, Addresses&);
template void find_addresses<Space::Lds>(Wave&, const Op&, Access, Addresses&);

}  // namespace tgc::hip
