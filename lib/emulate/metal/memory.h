// The memory that a kernel's threads may access, and what is known of its bytes: who stored them since the last
// barrier, and whether anybody in this group has.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/emulate/metal/grid.h"

namespace tgc::metal {

struct Access {
  uint64_t address = 0;
  uint32_t bytes = 0;
  bool stores = false;
};

class Memory {
 public:
  Memory(const std::vector<Range>& ranges, bool check_races);

  // The threadgroup memory of that number in the kernel, made when the first thread asks. At a multiple of 16; null
  // when the group has no room for it.
  void* threadgroup(uint32_t number, uint64_t bytes, const char* name);

  void begin_group() { group_++, phase_++; }
  void pass_barrier() { phase_++; }

  // Whether it lies within one range that may be accessed.
  bool holds(const Access& a) {
    if (!ranges_.empty() && ranges_[recent_].holds(a)) return true;
    return find(a);
  }
  // Of an access that some range holds, since the last call: what is wrong about it, empty when nothing is.
  bool is_watched() const { return ranges_[recent_].is_watched; }
  std::string watch(const Access& a, uint32_t thread);

  // "8 bytes after the end of data1 (32 bytes)" of an access that no range holds.
  std::string place_of(const Access& a) const;

 private:
  struct Cell {                      // of a byte
    uint32_t phase = 0;              // in which it was accessed last
    uint16_t writer = 0, reader = 0; // thread + 1; reader kSeveral: more than one
  };
  using Cells = std::unique_ptr<Cell[], void (*)(void*)>;
  struct Watched {
    std::string name;
    uint64_t begin = 0, bytes = 0;
    bool is_threadgroup = false, is_watched = false;
    std::vector<uint32_t> stored = {};  // of threadgroup memory, by byte: the group that stored it last
    Cells cells;
    std::unique_ptr<uint8_t[]> own = {};  // of threadgroup memory

    bool holds(const Access& a) const { return a.address - begin < bytes && bytes - (a.address - begin) >= a.bytes; }
  };
  Cells make_cells(uint64_t bytes) const;
  bool find(const Access& a);
  std::string race(Watched& range, const Access& a, uint32_t thread);

  std::vector<Watched> ranges_;
  std::vector<size_t> threadgroup_;  // by number: which range, + 1
  size_t recent_ = 0;
  uint64_t threadgroup_bytes_ = 0;
  uint32_t group_ = 0, phase_ = 0;
  bool check_races_;
};

}  // namespace tgc::metal
