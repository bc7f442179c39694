#include "lib/support/arena.h"

#include <pthread.h>
#include <sys/mman.h>

#include <mutex>

#include "lib/support/sanitized.h"

namespace tgc {
namespace {

void* aligned(size_t alignment, size_t size) {
  void* memory = std::aligned_alloc(alignment, size);
  if (!memory) throw std::bad_alloc();
  return memory;
}

constexpr size_t kHugePage = size_t{1} << 21;

class HugePages;
HugePages& huge_pages();

// Huge pages that arenas gave back are kept for the next ones: to map and clear one takes as long as to fill it, and an
// allocator that must align them leaves gaps. Those that wait here are left out of forks: a worker process has no use
// for them, and the tables of their pages are most of what a fork copies.
class HugePages {
 public:
  HugePages() {
    pthread_atfork([] { huge_pages().mutex_.lock(); }, [] { huge_pages().mutex_.unlock(); },
                   [] { huge_pages().free_.clear(), huge_pages().mutex_.unlock(); });
  }

  void* take() {
    {
      std::lock_guard guard(mutex_);
      if (!free_.empty()) {
        void* page = free_.back();
        free_.pop_back();
        if (madvise(page, kHugePage, MADV_DOFORK) == 0) return page;
      }
    }
    void* page = aligned(kHugePage, kHugePage);
    (void)madvise(page, kHugePage, MADV_HUGEPAGE);  // a wish
    return page;
  }
  void give_back(const std::vector<void*>& pages) {
    std::lock_guard guard(mutex_);
    for (void* page : pages)
      if (free_.size() < kMost && madvise(page, kHugePage, MADV_DONTFORK) == 0) free_.push_back(page);
      else std::free(page);
  }

 private:
  static constexpr size_t kMost = kSanitized ? 0 : 32;  // a sanitizer sees who reads what was given back
  std::mutex mutex_;
  std::vector<void*> free_;
};

HugePages& huge_pages() {
  static auto* pages = new HugePages;  // outlives every arena
  return *pages;
}

}  // namespace

Arena::~Arena() {
  for (void* c : chunks_) std::free(c);
  if (!huge_pages_.empty()) huge_pages().give_back(huge_pages_);
}

// A small arena takes its blocks one by one; a large one takes many at once, in a huge page where the system gives
// some: walks over millions of bytes of nodes spend their time on page faults and address translation otherwise.
void Arena::new_block() {
  constexpr size_t kFew = 32;  // graphs of most kernels stay below: a huge page is cleared as a whole
  if (next_block_ == chunk_end_) {
    bool large = blocks_ >= kFew;
    void* chunk = large ? huge_pages().take() : aligned(kBlockSize, kBlockSize);
    (large ? huge_pages_ : chunks_).push_back(chunk);
    next_block_ = reinterpret_cast<uintptr_t>(chunk);
    chunk_end_ = next_block_ + (large ? kHugePage : kBlockSize);
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
  void* block = aligned(kBlockSize, size);
  chunks_.push_back(block);
  large_bytes_ += size;
  *static_cast<void**>(block) = owner_;
  return static_cast<char*>(block) + kHead;
}

}  // namespace tgc
