// InlineStack: a stack of trivially copyable values, the first N inline, so that walks of small graphs do not allocate.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace tgc {

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
    if (size_ == room_) [[unlikely]] grow();
    new (&items_[size_++]) T(item);
  }
  void pop_back() { size_--; }
  void clear() { size_ = 0; }

 private:
  [[gnu::noinline]] void grow() {
    auto bigger = std::make_unique_for_overwrite<T[]>(2 * room_);
    std::copy(items_, items_ + size_, bigger.get());
    more_ = std::move(bigger);
    items_ = more_.get();
    room_ *= 2;
  }

  union {  // a union leaves the elements uninitialized
    T first_[N];
  };
  T* items_ = first_;
  size_t size_ = 0, room_ = N;
  std::unique_ptr<T[]> more_;
};

}  // namespace tgc
