// Checked access to numbers that come from a file. Throws Refusal if a number is not valid, and Failure if an integer
// of an arg does not fit into 64 bits. Private to lib/import.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc::import {

// Thrown where lib/import cannot import or export a node. Functions of public headers return an error instead.
struct Refusal {
  std::string reason;
};

[[noreturn]] void refuse_index(size_t index, size_t size);

template <class T>
class CheckedList : public std::vector<T> {
  using Base = std::vector<T>;

 public:
  using Base::Base;
  CheckedList() = default;
  CheckedList(Base items) : Base(std::move(items)) {}

  T& operator[](size_t i) { return Base::operator[](checked_index(i)); }
  const T& operator[](size_t i) const { return Base::operator[](checked_index(i)); }
  T& at(size_t i) { return (*this)[i]; }
  const T& at(size_t i) const { return (*this)[i]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[this->size() - 1]; }
  const T& back() const { return (*this)[this->size() - 1]; }
  void pop_back() { checked_index(0), Base::pop_back(); }

  CheckedList subrange(size_t first, size_t count) const {
    if (first > this->size() || count > this->size() - first) refuse_index(first + count, this->size());
    return CheckedList(this->begin() + ptrdiff_t(first), this->begin() + ptrdiff_t(first + count));
  }
  void drop_first_items(size_t count) {
    if (count > this->size()) refuse_index(count, this->size());
    this->erase(this->begin(), this->begin() + ptrdiff_t(count));
  }
  void keep_last_items(size_t count) {
    if (count > this->size()) refuse_index(count, this->size());
    drop_first_items(this->size() - count);
  }
  void append(const Base& items) { this->insert(this->end(), items.begin(), items.end()); }

 private:
  size_t checked_index(size_t i) const {
    if (i >= this->size()) [[unlikely]] refuse_index(i, this->size());
    return i;
  }
};

using Sizes = CheckedList<int64_t>;

// Throws Refusal if the result does not fit into 64 bits, or for a division by 0.
int64_t checked_add(int64_t a, int64_t b);
int64_t checked_sub(int64_t a, int64_t b);
int64_t checked_mul(int64_t a, int64_t b);
int64_t floored_quotient(int64_t a, int64_t b);
int64_t floored_remainder(int64_t a, int64_t b);

// Throws Refusal if a size is negative, or if a product of the first sizes does not fit into 64 bits.
int64_t product(std::span<const int64_t> sizes);

// Returns `n`. Throws Refusal unless 0 <= n < count.
size_t axis(int64_t n, size_t count);
// Throws Refusal if `tuple` is no tuple or has no item `n`.
Arg tuple_item(Arg tuple, size_t n);
// Throws Refusal if `arg` is no integer, Failure if it does not fit into 64 bits.
int64_t checked_integer(Arg arg);
// Throws Refusal unless `arg` is an integer from 0 to kMaxSlot; Failure if it is an integer of more than 64 bits.
inline constexpr int64_t kMaxSlot = 1 << 20;
int64_t checked_slot(Arg arg);
// Returns the number of elements of a vector. Throws Refusal unless it is in 1..65536.
int64_t count_of_dtype(DType dtype);
// Returns the sources of `u` from `n` on. Throws Refusal if `u` has fewer than `n` sources.
std::span<const UOp> sources_from(UOp u, size_t n);

}  // namespace tgc::import
