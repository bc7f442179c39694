// Checked access to numbers that come from a file: indices, axes, slots, counts, sizes and offsets. A file may contain
// any number where tinygrad writes a valid one, so the importer reads such numbers only through these functions and
// containers. They throw Refusal if a number is not valid, and Failure if an integer of an arg does not fit into 64
// bits. UOp::src(n) checks `n` itself. Private to lib/import.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc::import {

// The exception that the functions of lib/import throw if they cannot import a node. The functions that a public header
// declares catch it and return an error.
struct Refusal {
  std::string reason;
};

[[noreturn]] void refuse_index(size_t index, size_t size);

// A vector that throws Refusal if an index is out of range.
template <class T>
class Checked : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  Checked() = default;
  Checked(Base items) : Base(std::move(items)) {}

  T& operator[](size_t i) { return Base::operator[](checked_index(i)); }
  const T& operator[](size_t i) const { return Base::operator[](checked_index(i)); }
  T& at(size_t i) { return (*this)[i]; }
  const T& at(size_t i) const { return (*this)[i]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[this->size() - 1]; }
  const T& back() const { return (*this)[this->size() - 1]; }
  void pop_back() { checked_index(0), Base::pop_back(); }

  // Returns `count` items from `first` on.
  Checked subrange(size_t first, size_t count) const {
    if (first > this->size() || count > this->size() - first) refuse_index(first + count, this->size());
    return Checked(this->begin() + ptrdiff_t(first), this->begin() + ptrdiff_t(first + count));
  }
  // Removes the first `count` items.
  void drop_first(size_t count) {
    if (count > this->size()) refuse_index(count, this->size());
    this->erase(this->begin(), this->begin() + ptrdiff_t(count));
  }
  // Removes all but the last `count` items.
  void keep_last(size_t count) {
    if (count > this->size()) refuse_index(count, this->size());
    drop_first(this->size() - count);
  }
  void append(const Base& items) { this->insert(this->end(), items.begin(), items.end()); }

 private:
  size_t checked_index(size_t i) const {
    if (i >= this->size()) [[unlikely]] refuse_index(i, this->size());
    return i;
  }
};

using Sizes = Checked<int64_t>;

// 64-bit arithmetic. Throws Refusal if the result does not fit into 64 bits, or for a division by 0.
int64_t checked_add(int64_t a, int64_t b);
int64_t checked_sub(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);
int64_t floored_quotient(int64_t a, int64_t b);
int64_t floored_remainder(int64_t a, int64_t b);

// Returns the product of sizes. Throws Refusal if a size is negative, or if the product does not fit into 64 bits.
int64_t product(std::span<const int64_t> sizes);

// Returns `n`, the number of an axis, device or source. Throws Refusal unless 0 <= n < count.
size_t axis(int64_t n, size_t count);
// Returns item `n` of the tuple `tuple`. Throws Refusal if it is no tuple or has no item `n`.
Arg item(Arg tuple, size_t n);
// Returns the value of `arg`. Throws Refusal if it is no integer, Failure if it does not fit into 64 bits.
int64_t integer(Arg arg);
// Returns the value of `arg`. Throws Refusal unless it is a slot: an integer from 0 to kMaxSlot.
inline constexpr int64_t kMaxSlot = 1 << 20;
int64_t slot(Arg arg);
// Returns the number of elements of a vector dtype. Throws Refusal unless it is in 1..65536.
int64_t count_of(DType dtype);
// Returns the sources of `u` from `n` on. Throws Refusal if `u` has fewer than `n` sources.
std::span<const UOp> sources_from(UOp u, size_t n);

}  // namespace tgc::import
