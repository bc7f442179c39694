#include "lib/runtime/ref/exec_lanes.h"
#include "lib/runtime/ref/numeric.h"

namespace tgc::ref {
namespace {

using OpAdd = decltype([](auto a, auto b, UndefinedOpCounts&) { return wrapping_add(a, b); });
using OpSub = decltype([](auto a, auto b, UndefinedOpCounts&) { return wrapping_sub(a, b); });
using OpMul = decltype([](auto a, auto b, UndefinedOpCounts&) { return wrapping_mul(a, b); });
using OpAnd = decltype([]<class T>(T a, T b, UndefinedOpCounts&) { return T(a & b); });
using OpOr = decltype([]<class T>(T a, T b, UndefinedOpCounts&) { return T(a | b); });
using OpXor = decltype([]<class T>(T a, T b, UndefinedOpCounts&) { return T(a ^ b); });

// As tinygrad's cdiv, truncates; a / 0 is 0. min / -1, which does not fit, wraps to min.
template <class T>
T truncating_divide(T a, T b, UndefinedOpCounts& notes) {
  if (b == 0) return notes.num_zero_divisions++, T(0);
  if (std::is_signed_v<T> && b == T(-1)) return wrapping_sub(T(0), a);
  return T(a / b);
}

using OpIDiv = decltype([](auto a, auto b, UndefinedOpCounts& notes) { return truncating_divide(a, b, notes); });
using OpMod = decltype([](auto a, auto b, UndefinedOpCounts& notes) {
  return wrapping_sub(a, wrapping_mul(truncating_divide(a, b, notes), b));
});
// The count is taken modulo `bits`, as most processors do.
template <class T>
unsigned wrapped_shift_count(T count, unsigned bits, UndefinedOpCounts& notes) {
  if (std::make_unsigned_t<T>(count) >= bits) notes.num_wide_shifts++;
  return unsigned(count) % bits;
}

using OpShl = decltype([]<class T>(T a, T b, UndefinedOpCounts& notes) {
  return T(Unsigned<T>(a) << wrapped_shift_count(b, sizeof(T) * 8, notes));
});
using OpShr = decltype([]<class T>(T a, T b, UndefinedOpCounts& notes) {
  return T(a >> wrapped_shift_count(b, sizeof(T) * 8, notes));
});
// A negative exponent gives 1 or -1 for the bases 1 and -1, and 0 for other bases.
using OpPow = decltype([]<class T>(T a, T b, UndefinedOpCounts& notes) {
  if (std::is_signed_v<T> && b < 0) {
    if (a == 0) return notes.num_zero_divisions++, T(0);
    return a == 1 ? a : a == T(-1) ? T(b & 1 ? -1 : 1) : T(0);
  }
  T out = 1;
  for (auto e = std::make_unsigned_t<T>(b); e; e = std::make_unsigned_t<T>(e >> 1)) {
    if (e & 1) out = wrapping_mul(out, a);
    a = wrapping_mul(a, a);
  }
  return out;
});

// tinygrad's threefry2x32. x and key hold two 32-bit halves each.
using OpThreefry = decltype([](uint64_t x, uint64_t key, UndefinedOpCounts&) {
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  auto k0 = uint32_t(key), k1 = uint32_t(key >> 32);
  uint32_t ks[3] = {k1, k0 ^ k1 ^ 0x1BD11BDA, k0};
  uint32_t x0 = uint32_t(x) + ks[2], x1 = uint32_t(x >> 32) + ks[0];
  for (uint32_t i = 0; i < 5; i++) {
    for (int r : kRotations[i % 2]) x0 += x1, x1 = x0 ^ std::rotl(x1, r);
    x0 += ks[i % 3], x1 += ks[(i + 1) % 3] + i + 1;
  }
  return uint64_t(x1) << 32 | x0;
});

using OpBoolLt = decltype([](uint8_t a, uint8_t b, UndefinedOpCounts&) { return uint8_t((a ^ 1) & b); });
using OpBoolEq = decltype([](uint8_t a, uint8_t b, UndefinedOpCounts&) { return uint8_t(a == b); });

// On bools, + and max are `or`, and * is `and`, because tinygrad converts Python's result to bool.
InstructionFunction pick_bool_binary(const FunctionSelector& s) {
  switch (s.op) {
    case Opcode::Add:
    case Opcode::Max:
    case Opcode::Or: return pick_binary<uint8_t, uint8_t, OpOr>(s);
    case Opcode::Mul:
    case Opcode::And: return pick_binary<uint8_t, uint8_t, OpAnd>(s);
    case Opcode::Sub:
    case Opcode::Ne:
    case Opcode::Xor: return pick_binary<uint8_t, uint8_t, OpXor>(s);
    case Opcode::Lt: return pick_binary<uint8_t, uint8_t, OpBoolLt>(s);
    case Opcode::Eq: return pick_binary<uint8_t, uint8_t, OpBoolEq>(s);
    default: return nullptr;
  }
}

template <class T>
InstructionFunction pick_int_binary(const FunctionSelector& s) {
  switch (s.op) {
    case Opcode::IDiv: return pick_binary<T, T, OpIDiv>(s);
    case Opcode::Mod: return pick_binary<T, T, OpMod>(s);
    case Opcode::Shl: return pick_binary<T, T, OpShl>(s);
    case Opcode::Shr: return pick_binary<T, T, OpShr>(s);
    case Opcode::And: return pick_binary<T, T, OpAnd>(s);
    case Opcode::Or: return pick_binary<T, T, OpOr>(s);
    case Opcode::Xor: return pick_binary<T, T, OpXor>(s);
    default: return pick_common_binary<T, OpAdd, OpSub, OpMul, OpPow>(s);
  }
}

}  // namespace

InstructionFunction select_binary(const FunctionSelector& s) {
  if (s.op == Opcode::Threefry)
    return RefType(s.type) == RefType::U64 ? pick_binary<uint64_t, uint64_t, OpThreefry>(s) : nullptr;
  if (RefType(s.type) == RefType::Bool) return pick_bool_binary(s);
  return call_with_type(RefType(s.type), [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) return select_float_binary(s);
    else return pick_int_binary<T>(s);
  });
}

}  // namespace tgc::ref
