// The memory planner: assigns the same memory to intermediate buffers with disjoint lifetimes (tinygrad
// engine/memory.py).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "passes/tensor/schedule.h"

namespace tgc {

// The memory of one buffer: part of a shared buffer, the memory of another buffer, or, if neither shared_index nor
// reused_buffer is set, separate memory.
struct BufferPlace {
  std::optional<size_t> shared_index = {};  // index of the shared buffer in the plan
  int64_t offset_bytes = 0;
  std::optional<size_t> reused_buffer = {};  // number of the schedule buffer whose memory this buffer reuses
};

struct SharedBuffer {
  std::string device;
  int64_t size_bytes = 0;
};

struct MemoryPlan {
  std::vector<BufferPlace> buffer_places;  // one per buffer of the schedule; for a view, the entry of its base buffer
  std::vector<SharedBuffer> shared_buffers;
  // bytes of the buffers, except views, that have a shared_index or reused_buffer; bytes of the shared buffers
  int64_t planned_bytes_before = 0, planned_bytes_after = 0;
  // bytes of all buffers except views, without and with sharing
  int64_t total_bytes_before = 0, total_bytes_after = 0;
};

// Plans the memory of all buffers of `schedule`. With NO_MEMORY_PLANNER=1, plans separate memory for each buffer.
MemoryPlan plan_memory(const Schedule& schedule, const Settings& settings);

// A two-level segregated fit (TLSF) allocator of one address range. The first level of free lists has one class for
// each power of two of block sizes; the second level divides each class into equal intervals. Mirrors tinygrad
// runtime/support/memory.py:TLSFAllocator.
class TlsfAllocator {
 public:
  // Manages `size` bytes and allocates blocks of at least `block_size` bytes. Each class of the first level has
  // 2**bit_length(second_level_count) lists.
  TlsfAllocator(int64_t size, int64_t block_size, int second_level_count);

  // Returns the offset of a block of at least `size` bytes. Throws Failure if all free lists that hold only blocks of
  // at least `size` bytes are empty.
  int64_t allocate(int64_t size);
  // Frees the block at `start`, a result of allocate(), and merges it with free neighbours.
  void free(int64_t start);

 private:
  struct TlsfBlock {
    int64_t size = 0, next = kNoBlock, previous = kNoBlock;  // size in bytes; offsets of the adjacent blocks
    bool is_free = false;
  };
  static constexpr int64_t kNoBlock = -1;

  std::vector<int64_t>& free_list_of(int64_t size);
  void insert_free_block(int64_t start, int64_t size, int64_t previous);
  void remove_free_block(int64_t start);
  void split_block(int64_t start, int64_t size);
  void merge_block(int64_t start);
  void set_previous_block(int64_t next, int64_t start);

  int64_t block_size_;
  int second_level_bits_;
  std::vector<std::vector<std::vector<int64_t>>> free_blocks_;  // free blocks, by first and second level, oldest first
  std::vector<int> free_block_counts_;
  std::map<int64_t, TlsfBlock> tlsf_blocks_;
};

}  // namespace tgc
