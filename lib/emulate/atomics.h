// Atomic read-modify-write operations of emulated kernels, as compare-and-swap loops on the host's memory.
#pragma once
#include <atomic>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "lib/emulate/numbers.h"

namespace tgc::emulate {

enum class AtomicOp : uint8_t { Add, Sub, Min, Max, And, Or, Xor, Exchange, CompareAndSwap, Increment, Decrement };

// A 16-bit float; + and < convert to float. HalfPair (below) packs two SmallFloats into 32 bits.
template <float kDecode(uint16_t), uint16_t kEncode(float)>
struct SmallFloat {
  uint16_t bits;
  friend SmallFloat operator+(SmallFloat a, SmallFloat b) { return {kEncode(kDecode(a.bits) + kDecode(b.bits))}; }
  friend bool operator<(SmallFloat a, SmallFloat b) { return kDecode(a.bits) < kDecode(b.bits); }
  friend bool operator==(SmallFloat a, SmallFloat b) { return a.bits == b.bits; }
};
using AtomicHalf = SmallFloat<half_to_float, float_to_half>;
using AtomicBfloat = SmallFloat<bf16_to_float, float_to_bf16>;
template <class T>
struct HalfPair {
  uint32_t bits;
  friend HalfPair operator+(HalfPair a, HalfPair b) {
    T low = T{uint16_t(a.bits)} + T{uint16_t(b.bits)}, high = T{uint16_t(a.bits >> 16)} + T{uint16_t(b.bits >> 16)};
    return {uint32_t(low.bits) | uint32_t(high.bits) << 16};
  }
  friend bool operator<(HalfPair, HalfPair) { return false; }
  friend bool operator==(HalfPair a, HalfPair b) { return a.bits == b.bits; }
};

// Returns the new value of a memory cell that holds `old_value`; `old_value` if T does not have the operation.
// CompareAndSwap replaces b by c; the other operations ignore c.
template <AtomicOp kOp, class T>
T atomic_result(T old_value, T b, T c) {
  using enum AtomicOp;
  if constexpr (kOp == Min) return b < old_value ? b : old_value;
  if constexpr (kOp == Max) return old_value < b ? b : old_value;
  if constexpr (kOp == Exchange) return b;
  if constexpr (kOp == CompareAndSwap) return old_value == b ? c : old_value;
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    if constexpr (kOp == Add) return T(U(old_value) + U(b));
    if constexpr (kOp == Sub) return T(U(old_value) - U(b));
    if constexpr (kOp == And) return old_value & b;
    if constexpr (kOp == Or) return old_value | b;
    if constexpr (kOp == Xor) return old_value ^ b;
    if constexpr (kOp == Increment) return old_value >= b ? T(0) : T(old_value + 1);
    if constexpr (kOp == Decrement) return old_value == 0 || old_value > b ? b : T(old_value - 1);
  } else if constexpr (kOp == Add) {
    return old_value + b;
  }
  return old_value;
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

// Applies `kOp` atomically to the T at `address`, which must be aligned to sizeof(T). Returns the old bits.
template <AtomicOp kOp, class T>
BitsOf<T> apply_atomic_op(uint64_t address, BitsOf<T> b, BitsOf<T> c) {
  using U = BitsOf<T>;
  std::atomic_ref<U> cell(*reinterpret_cast<U*>(address));
  U old_value = cell.load(), new_value;
  do
    new_value =
        std::bit_cast<U>(atomic_result<kOp>(std::bit_cast<T>(old_value), std::bit_cast<T>(b), std::bit_cast<T>(c)));
  while (!cell.compare_exchange_weak(old_value, new_value));
  return old_value;
}

}  // namespace tgc::emulate
