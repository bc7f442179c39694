// The emulated GPU's memory: the host's, with a table of what was allocated, against which every access is checked.
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
  explicit Memory(uint64_t limit) : limit_(limit) {}
  ~Memory();
  // The address of so many bytes, zeroed and aligned to 256; 0 when there is no room. Behind them are as many again, at
  // least 64 KiB and at most 16 MiB, in which nothing is allocated: an index that is wrong by a factor leads there, not
  // into another array.
  uint64_t allocate(uint64_t bytes);
  bool free(uint64_t address);               // false: nothing begins there
  bool contains(uint64_t address, uint64_t bytes) const;
  std::vector<Range> ranges() const;         // sorted
  uint64_t limit() const { return limit_; }
  uint64_t used() const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> sizes_;
  uint64_t limit_, used_ = 0;
};

// The range that an instruction's last access lay in is where its next one is looked for first.
class RecentRanges {
 public:
  // The one of `ranges`, which are sorted, that holds all of [from, to); null when none does.
  const Range* find(const std::vector<Range>& ranges, uint32_t instruction, uint64_t from, uint64_t to) {
    Range& recent = by_instruction_[instruction % by_instruction_.size()];
    return recent.contains(from, to) ? &recent : find_anew(ranges, recent, from, to);
  }

 private:
  static const Range* find_anew(const std::vector<Range>& ranges, Range& recent, uint64_t from, uint64_t to);
  std::array<Range, 64> by_instruction_{};
};

// What an access does to memory; Atomic ones do not race with each other.
enum class Access : uint8_t { Load, Store, Atomic };
const char* verb(Access access);  // "reads", "stores", "changes"

std::string hex(uint64_t v);  // "0x1f"
// Where an address lies that lies in no allocation: "4 bytes behind the 64 bytes of argument 1". What holds the address
// of an allocation among the kernel's arguments names it.
std::string place_in(const std::vector<Range>& ranges, std::span<const std::byte> arguments, uint64_t from,
                     uint64_t to);

}  // namespace tgc::emulate
