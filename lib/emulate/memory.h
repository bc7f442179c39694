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

struct Range {
  uint64_t begin, end;
  bool contains(uint64_t from, uint64_t to) const { return begin <= from && to <= end && from <= to; }
};

class Memory {
 public:
  explicit Memory(uint64_t limit) : limit_bytes_(limit) {}
  ~Memory();
  // Allocates `bytes` zeroed bytes, page-aligned. Returns the address, or 0 if `bytes` is 0, exceeds what is left of
  // the limit, or cannot be mapped. A guard zone of the same size (at least 64 KiB, at most 16 MiB) follows each
  // allocation, so that in an array of at most 16 MiB, an index that is wrong by a factor of two does not reach another
  // array.
  uint64_t allocate(uint64_t bytes);
  bool free(uint64_t address);               // returns false if no allocation begins there
  bool contains(uint64_t address, uint64_t bytes) const;
  std::vector<Range> ranges() const;         // sorted by address
  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t used_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> allocation_sizes_;
  uint64_t limit_bytes_, used_bytes_ = 0;
};

// Finds the allocation that contains an address. Caches the range that each instruction accessed last; instructions
// whose numbers are equal modulo 64 share a cache entry.
class RecentRanges {
 public:
  // Returns the range that contains all of the addresses [from, to), or null. `ranges` must be sorted.
  const Range* find(const std::vector<Range>& ranges, uint32_t instruction, uint64_t from, uint64_t to) {
    Range& recent = recent_by_instruction_[instruction % recent_by_instruction_.size()];
    return recent.contains(from, to) ? &recent : find_uncached(ranges, recent, from, to);
  }

 private:
  static const Range* find_uncached(const std::vector<Range>& ranges, Range& recent, uint64_t from, uint64_t to);
  std::array<Range, 64> recent_by_instruction_{};
};

// The kind of a memory access. Atomic accesses do not race with each other.
enum class Access : uint8_t { Load, Store, Atomic };
const char* verb(Access access);  // returns "reads", "stores" or "changes"

std::string hex(uint64_t v);  // returns text such as "0x1f"
// Describes an out-of-bounds access [from, to) relative to the nearest allocation: "4 bytes behind the 64 bytes of
// argument 1". The allocation is named after the 8-byte kernel argument that holds its address, if there is one.
// Returns "far from every allocation" if none is within 1 GiB.
std::string locate(const std::vector<Range>& ranges, std::span<const std::byte> arguments, uint64_t from,
                     uint64_t to);

}  // namespace tgc::emulate
