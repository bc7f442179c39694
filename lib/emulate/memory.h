// The emulated GPU's global memory: host memory, with a table of allocations against which every access is checked.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace tgc::emulate {

struct MemoryRange {
  uint64_t begin, end;
  bool contains(uint64_t from, uint64_t to) const { return begin <= from && to <= end && from <= to; }
};

class GpuMemory {
 public:
  explicit GpuMemory(uint64_t limit) : limit_bytes_(limit) {}
  ~GpuMemory();
  // Returns the page-aligned address of `bytes` zeroed bytes, or 0 if the allocation fails or `bytes` is 0. An
  // inaccessible guard zone follows the pages of each allocation. It is about as large as the allocation, but at least
  // 64 KiB and at most 16 MiB.
  uint64_t allocate(uint64_t bytes);
  bool free(uint64_t address);
  bool contains(uint64_t address, uint64_t bytes) const;
  std::vector<MemoryRange> ranges() const;   // sorted by address
  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t used_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> allocation_sizes_;
  uint64_t limit_bytes_, used_bytes_ = 0;
};

// Finds the allocation that contains an address. Caches one range for each instruction number modulo 64.
class RecentRanges {
 public:
  // Returns the range that contains [from, to), or null. `ranges` must be sorted.
  const MemoryRange* find(const std::vector<MemoryRange>& ranges, uint32_t instruction, uint64_t from, uint64_t to) {
    MemoryRange& recent_range = recent_by_instruction_[instruction % recent_by_instruction_.size()];
    return recent_range.contains(from, to) ? &recent_range : search_ranges(ranges, recent_range, from, to);
  }

 private:
  static const MemoryRange* search_ranges(const std::vector<MemoryRange>& ranges, MemoryRange& recent_range,
                                          uint64_t from, uint64_t to);
  std::array<MemoryRange, 64> recent_by_instruction_{};
};

enum class Access : uint8_t { Load, Store, Atomic };
const char* access_verb(Access access);

std::string hex_text(uint64_t v);  // such as "0x1f"
// Describes an access [from, to) that no allocation contains: "4 bytes behind the 64 bytes of argument 1". The text
// names the argument if one of the 8-byte words of `arguments`, the kernel's argument block, holds the address of the
// nearest allocation.
std::string location_text(const std::vector<MemoryRange>& ranges, std::span<const std::byte> arguments, uint64_t from,
                          uint64_t to);

}  // namespace tgc::emulate
