// Translates the lanes' addresses into checked host addresses. Unaligned addresses are allowed, except in atomics.
#pragma once
#include "lib/emulate/hip/builder.h"
#include "lib/emulate/hip/driver.h"
#include "lib/emulate/hip/lanes.h"

namespace tgc::hip {

enum class Space : uint8_t { Global, Flat, Private, Lds };

struct LaneAddresses {
  alignas(64) uint64_t host[2 * kNumLanes];  // only the elements of active lanes are valid
  bool is_contiguous = false;  // true only if all lanes are active and, in each half, addresses increase by 4
};

// Returns the accessible range that contains [from, to), or null.
inline const MemoryRange* find_range(const Wave& w, const Op& o, uint64_t from, uint64_t to) {
  return w.group->recent_ranges.find(w.group->launch->memory_ranges, o.instruction, from, to);
}
[[noreturn]] void throw_scalar_load_fault(const Wave& w, const Op& o, uint64_t from);

// Computes the host addresses of the access `o` (vector register a, scalar base c, offset). Throws a KernelFault if an
// active lane accesses memory out of bounds or reads LDS bytes that were never stored and, with a race detector, if it
// races. Does not check flat accesses for races if one of the lanes accesses LDS or private memory.
template <Space kSpace>
void resolve_addresses(Wave& w, const Op& o, Access access, LaneAddresses& to);

// Records an access to host memory in the race detector, which must exist. Throws a KernelFault if it races.
void check_race(Wave& w, const Op& o, uint32_t lane, uint64_t address, uint32_t bytes, Access access);

// Throws Failure if the instruction has a modifier other than those of memory access: offset, cache policy and gds.
void allow_memory_modifiers(const CodeBuilder& b);
// Returns the space that the prefix of the instruction name stands for: "global_", "flat_", "scratch_" or "ds_".
Space space_of_name(std::string_view name);
// Sets the address of `op` from operands such as "v[0:1], off", "v0, s[2:3]", "off, s3", or "v0" for LDS.
void set_address(CodeBuilder& b, Op& op, Space space, const Operand& vector, const Operand* scalar);

}  // namespace tgc::hip
