#include "lib/import/checked.h"

namespace tgc::import {

namespace {

constexpr int64_t kMostInVector = 1 << 16;

[[noreturn]] void refuse_overflow() { throw Refusal{"its sizes do not fit 64 bits"}; }

}  // namespace

void refuse_index(size_t index, size_t size) {
  throw Refusal{"its index " + std::to_string(index) + " is out of range, there are " + std::to_string(size)};
}

int64_t checked_add(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) [[unlikely]] refuse_overflow();
  return out;
}
int64_t checked_sub(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_sub_overflow(a, b, &out)) [[unlikely]] refuse_overflow();
  return out;
}
int64_t checked_mul(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) [[unlikely]] refuse_overflow();
  return out;
}

int64_t floored_quotient(int64_t a, int64_t b) {
  if (b == 0) throw Refusal{"it divides by 0"};
  if (b == -1) return checked_sub(0, a);
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}
int64_t floored_remainder(int64_t a, int64_t b) {
  if (b == 0) throw Refusal{"it divides by 0"};
  if (b == -1) return 0;
  const int64_t left = a % b;
  return left != 0 && (left < 0) != (b < 0) ? left + b : left;
}

int64_t product(std::span<const int64_t> sizes) {
  int64_t out = 1;
  for (int64_t size : sizes) {
    if (size < 0) throw Refusal{"its size " + std::to_string(size) + " is negative"};
    out = checked_mul(out, size);
  }
  return out;
}

size_t axis(int64_t n, size_t count) {
  if (n < 0 || size_t(n) >= count) refuse_index(size_t(n), count);
  return size_t(n);
}

Arg tuple_item(Arg tuple, size_t n) {
  if (!tuple.is_tuple()) throw Refusal{"its arg " + tuple.repr() + " is no tuple"};
  if (n >= tuple.items().size()) refuse_index(n, tuple.items().size());
  return tuple[n];
}

int64_t checked_integer(Arg arg) {
  if (!arg.is_integral()) throw Refusal{"its arg " + arg.repr() + " is no integer"};
  return arg.as_int().int64_or_throw("an arg");
}

int64_t checked_slot(Arg arg) {
  const int64_t n = arg.is_integral() ? checked_integer(arg) : -1;
  if (n < 0 || n > kMaxSlot) throw Refusal{"its slot " + arg.repr() + " is out of range"};
  return n;
}

int64_t count_of_dtype(DType dtype) {
  const int64_t count = dtype.count();
  if (count < 1 || count > kMostInVector) throw Refusal{"it is a vector of " + std::to_string(count) + " elements"};
  return count;
}

std::span<const UOp> sources_from(UOp u, size_t n) {
  if (n > u.num_src()) refuse_index(n, u.num_src());
  return u.src().subspan(n);
}

}  // namespace tgc::import
