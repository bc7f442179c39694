// The memory that a kernel's threads may access, and what is known of its bytes: whether anybody in this group has
// stored them, and on request who accessed them since the last barrier.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/emulate/metal/grid.h"
#include "lib/emulate/races.h"

namespace tgc::metal {

struct Access {
  uint64_t address = 0;
  uint32_t bytes = 0;
  bool stores = false;
};
using emulate::Races;

class Memory {
 public:
  Memory(const std::vector<Range>& ranges, bool check_races);

  // The threadgroup memory of that number in the kernel, made when the first thread asks. At a multiple of 16; null
  // when the group has no room for it.
  void* threadgroup(uint32_t number, uint64_t bytes, const char* name);

  void begin_group() { group_++, races_.forget(); }
  void pass_barrier() { races_.forget(); }

  // Whether it lies within one range that may be accessed.
  bool holds(const Access& a) {
    if (!ranges_.empty() && ranges_[recent_].holds(a)) return true;
    return find(a);
  }
  // Of an access that some range holds, since the last call: whether it is watched; what of it no thread of the group
  // has stored before, noting what it stores; the race that it is; "data1 at byte 8".
  bool is_watched() const { return check_races_ || ranges_[recent_].is_threadgroup; }
  std::optional<uint64_t> never_stored(const Access& a);
  std::optional<Races::Race> race(const Access& a, uint32_t thread, uint32_t instruction);
  std::string place_within(uint64_t address) const;

  // "8 bytes after the end of data1 (32 bytes)" of an access that no range holds.
  std::string place_of(const Access& a) const;

 private:
  struct Known {
    std::string name;
    uint64_t begin = 0, bytes = 0;
    bool is_threadgroup = false;
    std::vector<uint32_t> stored = {};  // of threadgroup memory, by byte: the group that stored it last
    std::unique_ptr<uint8_t[]> own = {};  // of threadgroup memory

    bool holds(const Access& a) const { return a.address - begin < bytes && bytes - (a.address - begin) >= a.bytes; }
  };
  bool find(const Access& a);

  std::vector<Known> ranges_;
  std::vector<size_t> threadgroup_;  // by number: which range, + 1
  size_t recent_ = 0;
  uint64_t threadgroup_bytes_ = 0;
  uint32_t group_ = 0;
  bool check_races_;
  Races races_;
};

}  // namespace tgc::metal
