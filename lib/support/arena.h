// Arena, a bump allocator, and InlineStack. An arena releases its memory when it is destroyed, without calling
// destructors. Its blocks are aligned to kArenaBlockSize and begin with a pointer to the arena's owner, so that
// owner_of(p) finds the owner of an object. An object larger than kLargeSize that does not fit into the current block
// gets a block of its own.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tgc {

class Arena {
 public:
  static constexpr size_t kArenaBlockSize = size_t{1} << 17;
  static constexpr size_t kLargeSize = kArenaBlockSize / 4;

  explicit Arena(void* owner = nullptr) : arena_owner_(owner) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Returns `size` uninitialized bytes aligned to `align` (a power of two, at most 16). Throws std::bad_alloc, or the
  // Failure of throw_if_late().
  void* allocate(size_t size, size_t align = alignof(std::max_align_t)) {
    uintptr_t p = (next_byte_ + align - 1) & ~(align - 1);
    if (p + size > block_end_) [[unlikely]] {
      if (size > kLargeSize) return allocate_large(size);
      allocate_block();
      p = (next_byte_ + align - 1) & ~(align - 1);
    }
    next_byte_ = p + size;
    return reinterpret_cast<void*>(p);
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  template <class T>
  std::span<T> copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    T* out = static_cast<T*>(allocate(items.size_bytes(), alignof(T)));
    std::memcpy(static_cast<void*>(out), items.data(), items.size_bytes());
    return {out, items.size()};
  }

  std::string_view copy(std::string_view text) {
    auto chars = copy(std::span<const char>(text.data(), text.size()));
    return {chars.data(), chars.size()};
  }

  // Returns the owner of the arena that allocated `p`. `p` must be what allocate() returned, not a pointer into it.
  static void* owner_of(const void* p) {
    return *reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(p) & ~uintptr_t(kArenaBlockSize - 1));
  }

  size_t total_bytes() const { return num_blocks_ * kArenaBlockSize + num_large_bytes_; }

 private:
  static constexpr size_t kHeadSize = 16;
  void allocate_block();
  void* allocate_large(size_t size);

  void* arena_owner_;
  uintptr_t next_byte_ = 0, block_end_ = 0;
  uintptr_t next_block_ = 0, chunk_end_ = 0;
  std::vector<void*> chunks_, huge_pages_;
  size_t num_blocks_ = 0, num_large_bytes_ = 0;
};

// A stack of trivially copyable values, up to N of them inline, so that walks of small graphs do not allocate.
template <class T, size_t N>
class InlineStack {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  InlineStack() {}
  InlineStack(const InlineStack&) = delete;
  InlineStack& operator=(const InlineStack&) = delete;

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  T& back() { return items_[size_ - 1]; }
  const T& operator[](size_t i) const { return items_[i]; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  void push_back(T item) {
    if (size_ == capacity_) [[unlikely]] grow();
    new (&items_[size_++]) T(item);
  }
  void pop_back() { size_--; }
  void clear() { size_ = 0; }

 private:
  [[gnu::noinline]] void grow() {
    auto bigger = std::make_unique_for_overwrite<T[]>(2 * capacity_);
    std::copy(items_, items_ + size_, bigger.get());
    heap_items_ = std::move(bigger);
    items_ = heap_items_.get();
    capacity_ *= 2;
  }

  union {
    T inline_items_[N];
  };
  T* items_ = inline_items_;
  size_t size_ = 0, capacity_ = N;
  std::unique_ptr<T[]> heap_items_;
};

}  // namespace tgc
