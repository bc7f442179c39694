// A two-level segregated fit allocator of one stretch of addresses, as the memory planner uses it: the first level of
// free lists is by the power of two of a block's size, the second divides each evenly. Mirrors tinygrad
// runtime/support/memory.py (TLSFAllocator): which of several free blocks is taken is the one that has been free the
// longest.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

namespace tgc {

class TlsfAllocator {
 public:
  // `size` bytes in blocks of at least `block_size`; the second level has as many lists as fit `lv2_count`'s bits.
  TlsfAllocator(int64_t size, int64_t block_size, int lv2_count);

  // The first byte of a block of `size` bytes; throws Failure when none is left.
  int64_t allocate(int64_t size);
  // Gives back what allocate returned; free neighbours become one block.
  void free(int64_t start);

 private:
  struct Block {
    int64_t size = 0, next = kNone, previous = kNone;  // neighbours by their start
    bool is_free = false;
  };
  static constexpr int64_t kNone = -1;

  std::vector<int64_t>& list_of(int64_t size);
  void insert(int64_t start, int64_t size, int64_t previous);
  void remove(int64_t start);
  void split(int64_t start, int64_t size);
  void merge(int64_t start);
  void link_back(int64_t next, int64_t start);

  int64_t block_size_;
  int lv2_bits_;
  std::vector<std::vector<std::vector<int64_t>>> free_;  // [first level][second level], oldest first
  std::vector<int> entries_;                             // of each first level
  std::map<int64_t, Block> blocks_;                      // by start
};

}  // namespace tgc
