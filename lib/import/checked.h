// Checked access to what a file decides: indices, axes, slots, counts, sizes and offsets. A file may contain any number
// where tinygrad writes a valid one, so the importer reads such numbers only through these functions and containers.
// All of them throw Refusal. UOp::src(n) is checked by itself. Private to lib/import.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc::import {

// Thrown by an upgrade that cannot import the node that it is called for.
struct Refusal {
  std::string reason;
};

[[noreturn]] void refuse_index(size_t index, size_t size);

// A vector whose accesses are checked.
template <class T>
class Checked : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  Checked() = default;
  Checked(Base items) : Base(std::move(items)) {}

  T& operator[](size_t i) { return Base::operator[](within(i)); }
  const T& operator[](size_t i) const { return Base::operator[](within(i)); }
  T& at(size_t i) { return (*this)[i]; }
  const T& at(size_t i) const { return (*this)[i]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[this->size() - 1]; }
  const T& back() const { return (*this)[this->size() - 1]; }
  void pop_back() { within(0), Base::pop_back(); }

  // Returns `count` items from `first` on.
  Checked part(size_t first, size_t count) const {
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
  size_t within(size_t i) const {
    if (i >= this->size()) [[unlikely]] refuse_index(i, this->size());
    return i;
  }
};

using Sizes = Checked<int64_t>;

// 64-bit arithmetic that refuses results which do not fit, and divisions by 0.
int64_t checked_add(int64_t a, int64_t b);
int64_t checked_sub(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);
int64_t floored_quotient(int64_t a, int64_t b);
int64_t floored_remainder(int64_t a, int64_t b);

// Returns the product of sizes, none of which may be negative.
int64_t product(std::span<const int64_t> sizes);

// Returns `n` as an index below `count`: of an axis, a device or a source.
size_t axis(int64_t n, size_t count);
// Returns item `n` of a tuple or a list of fields.
Arg item(Arg tuple, size_t n);
// Returns the integer that an arg is.
int64_t integer(Arg arg);
// Returns a slot: an integer from 0 to kMostSlots.
inline constexpr int64_t kMostSlots = 1 << 20;
int64_t slot(Arg arg);
// Returns the number of elements of a vector dtype: 1 to 65,536.
int64_t count_of(DType dtype);
// Returns the sources of `u` from `n` on.
std::span<const UOp> sources_from(UOp u, size_t n);

}  // namespace tgc::import
