#include "lib/support/arena.h"

#include <pthread.h>
#include <sys/mman.h>

#include <cstdlib>
#include <mutex>

#include "lib/support/deadline.h"
#include "lib/support/sanitized.h"

namespace tgc {
namespace {

void* allocate_aligned(size_t alignment, size_t size) {
  void* memory = std::aligned_alloc(alignment, size);
  if (!memory) throw std::bad_alloc();
  return memory;
}

constexpr size_t kHugePage = size_t{1} << 21;

class HugePagePool;
HugePagePool& huge_page_pool();

// A pool of huge pages that destroyed arenas returned, because mapping and clearing a new page takes long. Pages in the
// pool are excluded from fork (MADV_DONTFORK), which would copy their page tables.
class HugePagePool {
 public:
  HugePagePool() {
    pthread_atfork([] { huge_page_pool().mutex_.lock(); }, [] { huge_page_pool().mutex_.unlock(); },
                   [] { huge_page_pool().free_pages_.clear(), huge_page_pool().mutex_.unlock(); });
  }

  void* take_page() {
    {
      std::lock_guard guard(mutex_);
      if (!free_pages_.empty()) {
        void* page = free_pages_.back();
        free_pages_.pop_back();
        if (madvise(page, kHugePage, MADV_DOFORK) == 0) return page;
      }
    }
    void* page = allocate_aligned(kHugePage, kHugePage);
    (void)madvise(page, kHugePage, MADV_HUGEPAGE);  // only for speed, so ignore errors
    return page;
  }
  void return_pages(const std::vector<void*>& pages) {
    std::lock_guard guard(mutex_);
    for (void* page : pages)
      if (free_pages_.size() < kMaxPages && madvise(page, kHugePage, MADV_DONTFORK) == 0) free_pages_.push_back(page);
      else std::free(page);
  }

 private:
  // 0 with sanitizers, which detect uses of freed pages
  static constexpr size_t kMaxPages = kIsSanitized ? 0 : 32;
  std::mutex mutex_;
  std::vector<void*> free_pages_;
};

HugePagePool& huge_page_pool() {
  static auto* pages = new HugePagePool;  // never destroyed: static arenas may be destroyed later
  return *pages;
}

}  // namespace

Arena::~Arena() {
  for (void* c : chunks_) std::free(c);
  if (!huge_pages_.empty()) huge_page_pool().return_pages(huge_pages_);
}

// Large arenas take huge pages, which reduce page faults and address translations.
void Arena::allocate_block() {
  throw_if_late();  // checked here, because most long work allocates nodes
  constexpr size_t kNumSmallBlocks = 32;
  if (next_block_ == chunk_end_) {
    bool large = num_blocks_ >= kNumSmallBlocks;
    void* chunk = large ? huge_page_pool().take_page() : allocate_aligned(kArenaBlockSize, kArenaBlockSize);
    (large ? huge_pages_ : chunks_).push_back(chunk);
    next_block_ = reinterpret_cast<uintptr_t>(chunk);
    chunk_end_ = next_block_ + (large ? kHugePage : kArenaBlockSize);
  }
  uintptr_t block = next_block_;
  next_block_ += kArenaBlockSize;
  num_blocks_++;
  *reinterpret_cast<void**>(block) = arena_owner_;
  next_byte_ = block + kHeadSize;
  block_end_ = block + kArenaBlockSize;
}

void* Arena::allocate_large(size_t size) {
  size = (kHeadSize + size + kArenaBlockSize - 1) & ~(kArenaBlockSize - 1);
  void* block = allocate_aligned(kArenaBlockSize, size);
  chunks_.push_back(block);
  num_large_bytes_ += size;
  *static_cast<void**>(block) = arena_owner_;
  return static_cast<char*>(block) + kHeadSize;
}

}  // namespace tgc
