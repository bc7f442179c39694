#include "lib/support/arena.h"

#include <sys/mman.h>

namespace tgc {

// A small arena takes its blocks one by one; a large one takes many at once, in a huge page where the system gives some: walks over millions of
// bytes of nodes spend their time on page faults and address translation otherwise.
void Arena::new_block() {
  constexpr size_t kHugePage = size_t{1} << 21, kFew = 32;  // graphs of most kernels stay below: a huge page is cleared as a whole
  if (next_block_ == chunk_end_) {
    size_t size = blocks_ < kFew ? kBlockSize : kHugePage;
    void* chunk = std::aligned_alloc(size, size);
    if (!chunk) throw std::bad_alloc();
    if (size == kHugePage) (void)madvise(chunk, size, MADV_HUGEPAGE);  // a wish
    chunks_.push_back(chunk);
    next_block_ = reinterpret_cast<uintptr_t>(chunk);
    chunk_end_ = next_block_ + size;
  }
  uintptr_t block = next_block_;
  next_block_ += kBlockSize;
  blocks_++;
  *reinterpret_cast<void**>(block) = owner_;
  cursor_ = block + kHead;
  limit_ = block + kBlockSize;
}

void* Arena::allocate_large(size_t size) {
  size = (kHead + size + kBlockSize - 1) & ~(kBlockSize - 1);
  void* block = std::aligned_alloc(kBlockSize, size);
  if (!block) throw std::bad_alloc();
  chunks_.push_back(block);
  large_bytes_ += size;
  *static_cast<void**>(block) = owner_;
  return static_cast<char*>(block) + kHead;
}

}  // namespace tgc
