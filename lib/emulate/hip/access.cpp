#include "lib/emulate/hip/access.h"

namespace tgc::hip {
namespace {

std::string access_text(Access access, uint32_t bytes, const std::string& place) {
  return std::string(access_verb(access)) + " " + std::to_string(bytes) + " bytes at " + place;
}

std::string nearest_range_text(const Wave& w, uint64_t from, uint64_t to) {
  return location_text(w.group->launch->memory_ranges, w.group->launch->arguments, from, to);
}

void compute_addresses(const Wave& w, const Op& o, LaneAddresses& to) {
  uint64_t base = (uint64_t(w.scalar_registers[o.c.register_index]) |
                   (o.has_narrow_base ? 0 : uint64_t(w.scalar_registers[o.c.register_index + 1]) << 32)) +
                  uint64_t(int64_t(o.offset));
  for (int half = 0; half < int(w.num_halves); half++) {
    uint64_t* at = to.host + half * kNumLanes;
    LaneArray<uint32_t> room;
    const uint32_t* low = operand_lanes(w, o.a, half, 0, room);
    if (o.has_wide_address) {
      const uint32_t* high = w.vector(o.a.register_index + 1, uint32_t(half));
      TGC_LANES at[i] = base + (uint64_t(low[i]) | uint64_t(high[i]) << 32);
    } else {
      TGC_LANES at[i] = base + low[i];
    }
  }
}

MemoryRange address_bounds(const Wave& w, const LaneAddresses& to) {
  uint64_t low = UINT64_MAX, high = 0;
  for (int half = 0; half < int(w.num_halves); half++) {
    const uint64_t* at = to.host + half * kNumLanes;
    uint32_t active = w.exec(uint32_t(half));
    TGC_LANES {
      bool is_active = active >> i & 1;
      low = is_active && at[i] < low ? at[i] : low;
      high = is_active && at[i] > high ? at[i] : high;
    }
  }
  return {low, high};
}

void check_global_access(Wave& w, const Op& o, Access access, const LaneAddresses& to) {
  auto [low, high] = address_bounds(w, to);
  if (high + o.bytes > high && find_range(w, o, low, high + o.bytes)) return;
  for_each_active_lane(w, [&](uint32_t lane) {
    uint64_t from = to.host[lane], end = from + o.bytes;
    if (end < from || !find_range(w, o, from, end))
      throw_fault(w, o, lane, kIllegalAddress,
                  access_text(access, o.bytes, hex_text(from)) + ", " + nearest_range_text(w, from, end));
  });
}

// Checks an offset into LDS or private memory and replaces it by its host address.
void check_lane_offset(Wave& w, const Op& o, Access access, uint32_t lane, uint64_t& at, bool is_private) {
  uint64_t size = is_private ? w.code->descriptor.private_bytes : w.group->lds_memory.size();
  if (at > size || size - at < o.bytes)
    throw_fault(w, o, lane, kIllegalAddress,
                access_text(access, o.bytes, std::to_string(int64_t(at)) + " of " + std::to_string(size)) +
                    " bytes of " + (is_private ? "private" : "shared") + " memory");
  std::byte* base = is_private ? w.private_memory + lane * size : w.group->lds_memory.data();
  if (!is_private) {
    uint8_t* stored = w.group->is_byte_stored.data() + at;
    if (access == Access::Store) std::memset(stored, 1, o.bytes);
    else if (std::memchr(stored, 0, o.bytes))
      throw_fault(w, o, lane, kLaunchFailed,
                  access_text(access, o.bytes, std::to_string(at)) +
                      " of shared memory, where nothing was stored before" +
                      (w.group->launch->num_block_threads() > 64
                           ? ": if another thread stores it, a barrier is missing before this load"
                           : ""));
  }
  at += reinterpret_cast<uint64_t>(base);
}

}  // namespace

void throw_scalar_load_fault(const Wave& w, const Op& o, uint64_t from) {
  throw_fault(w, o, 0, kIllegalAddress,
              access_text(Access::Load, 4u * o.num_words, hex_text(from)) + ", " +
            nearest_range_text(w, from, from + 4u * o.num_words));
}

// Lanes of a wave run in lockstep, and the compiler omits barriers in single-wave groups, so accesses of one wave race
// only within one operation: w.num_started_ops differs for each operation.
void check_race(Wave& w, const Op& o, uint32_t lane, uint64_t address, uint32_t bytes, Access access) {
  auto race = w.group->race_detector->note_access(
      address, bytes, {o.instruction, w.num_started_ops, uint16_t(w.first_thread + lane), access});
  if (race)
    throw_fault(w, o, lane, kLaunchFailed,
                race->text(thread_text(*w.group, race->earlier_access.thread),
                           w.code->instruction_text(race->earlier_access.instruction)));
}

template <Space kSpace>
void resolve_addresses(Wave& w, const Op& o, Access access, LaneAddresses& to) {
  compute_addresses(w, o, to);
  if constexpr (kSpace == Space::Global) {
    check_global_access(w, o, access, to);
  } else if constexpr (kSpace == Space::Flat) {
    bool is_global = true;
    for_each_active_lane(w, [&](uint32_t lane) {
      uint64_t& at = to.host[lane];
      bool is_group = at - kGroupWindowAddress < kMemoryWindowBytes,
           is_private = at - kPrivateWindowAddress < kMemoryWindowBytes;
      if (is_group || is_private)
        is_global = false, at -= is_group ? kGroupWindowAddress : kPrivateWindowAddress,
        check_lane_offset(w, o, access, lane, at, is_private);
      else if (!find_range(w, o, at, at + o.bytes))
        throw_fault(w, o, lane, kIllegalAddress,
                    access_text(access, o.bytes, hex_text(at)) + ", " + nearest_range_text(w, at, at + o.bytes));
    });
    if (!is_global) return;
  } else if constexpr (kSpace == Space::Private) {
    uint64_t size = w.code->descriptor.private_bytes, base = reinterpret_cast<uint64_t>(w.private_memory);
    uint64_t high = address_bounds(w, to).end;
    if (high <= size && size - high >= o.bytes)
      for (uint32_t lane = 0; lane < w.num_halves * kNumLanes; lane++) to.host[lane] += base + lane * size;
    else for_each_active_lane(w, [&](uint32_t lane) { check_lane_offset(w, o, access, lane, to.host[lane], true); });
  } else {
    for_each_active_lane(w, [&](uint32_t lane) {
      to.host[lane] &= UINT32_MAX;
      check_lane_offset(w, o, access, lane, to.host[lane], false);
    });
  }
  bool all = w.exec() == (w.num_halves == 2 ? UINT64_MAX : UINT32_MAX);
  if (all && kSpace != Space::Private) {
    uint64_t off_row = 0;
    for (int half = 0; half < int(w.num_halves); half++) {
      const uint64_t* at = to.host + half * kNumLanes;
      TGC_LANES off_row |= at[i] ^ (at[0] + uint64_t(i) * 4);
    }
    to.is_contiguous = off_row == 0;
  }
  if (w.group->race_detector && kSpace != Space::Private)
    for_each_active_lane(w, [&](uint32_t lane) { check_race(w, o, lane, to.host[lane], o.bytes, access); });
}

void allow_memory_modifiers(const CodeBuilder& b) {
  b.allow_modifiers({"offset", "glc", "slc", "dlc", "sc0", "sc1", "nt", "th", "scope", "gds"});
}

Space space_of_name(std::string_view name) {
  return name.starts_with("global_")    ? Space::Global
         : name.starts_with("flat_")    ? Space::Flat
         : name.starts_with("scratch_") ? Space::Private
                                        : Space::Lds;
}

void set_address(CodeBuilder& b, Op& op, Space space, const Operand& vector, const Operand* scalar) {
  op.offset = int32_t(b.instruction->modifier_value("offset"));
  bool has_scalar = scalar && scalar->kind == Operand::Scalar;
  op.c = has_scalar ? SourceOperand{.register_index = b.scalar_register(*scalar, space == Space::Private ? 1 : 2)}
                    : b.constant_operand(0, 2);
  bool is_wide = (space == Space::Global && !has_scalar) || space == Space::Flat;
  if (vector.kind == Operand::Vector)
    op.a = SourceOperand{.register_index = b.vector_register(vector, is_wide ? 2 : 1), .is_vector = true};
  else op.a = b.constant_operand(0, 2);
  op.has_wide_address = is_wide && op.a.is_vector;
  op.has_narrow_base = has_scalar && space == Space::Private;
}

template void resolve_addresses<Space::Global>(Wave&, const Op&, Access, LaneAddresses&);
template void resolve_addresses<Space::Flat>(Wave&, const Op&, Access, LaneAddresses&);
template void resolve_addresses<Space::Private>(Wave&, const Op&, Access, LaneAddresses&);
template void resolve_addresses<Space::Lds>(Wave&, const Op&, Access, LaneAddresses&);

}  // namespace tgc::hip
