// Shared by the integer instruction families: selects an operation by type; emits instructions with 1 to 3 sources.
#pragma once
#include <string>
#include <type_traits>

#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/lanes.h"

namespace tgc::ptx {

template <class T>
struct Wider;
template <>
struct Wider<uint16_t> {
  using type = uint32_t;
};
template <>
struct Wider<int16_t> {
  using type = int32_t;
};
template <>
struct Wider<uint32_t> {
  using type = uint64_t;
};
template <>
struct Wider<int32_t> {
  using type = int64_t;
};
template <>
struct Wider<uint64_t> {
  using type = unsigned __int128;
};
template <>
struct Wider<int64_t> {
  using type = __int128;
};
template <class T>
using WiderOf = typename Wider<T>::type;
template <class T>
using UnsignedOf = std::make_unsigned_t<T>;

template <class F>
Run for_integers(Type t) {
  if (!is_integer(t)) return nullptr;
  switch (register_bits(t)) {
    case 16: return is_signed(t) ? binary<int16_t, F> : binary<uint16_t, F>;
    case 32: return is_signed(t) ? binary<int32_t, F> : binary<uint32_t, F>;
    case 64: return is_signed(t) ? binary<int64_t, F> : binary<uint64_t, F>;
    default: return nullptr;
  }
}
template <class F>
Run for_integers_1(Type t) {
  switch (register_bits(t)) {
    case 16: return is_signed(t) ? unary<int16_t, F> : unary<uint16_t, F>;
    case 32: return is_signed(t) ? unary<int32_t, F> : unary<uint32_t, F>;
    case 64: return is_signed(t) ? unary<int64_t, F> : unary<uint64_t, F>;
    default: return nullptr;
  }
}
template <class F>
Run for_integers_3(Type t) {
  switch (register_bits(t)) {
    case 16: return is_signed(t) ? ternary<int16_t, F> : ternary<uint16_t, F>;
    case 32: return is_signed(t) ? ternary<int32_t, F> : ternary<uint32_t, F>;
    case 64: return is_signed(t) ? ternary<int64_t, F> : ternary<uint64_t, F>;
    default: return nullptr;
  }
}

inline Type integer_type(Builder& b) {
  Type t = b.type();
  if (!is_integer(t) || bits(t) < 16 || bits(t) > 64)
    b.fail("the type ." + std::string(text(t)) + " does not go with it");
  return t;
}

inline void emit_1(Builder& b, Type t, Run run) {
  b.no_more();
  b.need_operands(2);
  Op op{.run = run, .a = b.source(1, t)};
  op.d = b.destination(0, t);
  b.emit(op);
}
inline void emit_2(Builder& b, Type t, Run run) {
  b.no_more();
  b.need_operands(3);
  Op op{.run = run, .a = b.source(1, t), .b = b.source(2, t)};
  op.d = b.destination(0, t);
  b.emit(op);
}
inline void emit_3(Builder& b, Type t, Run run) {
  b.no_more();
  b.need_operands(4);
  Op op{.run = run, .a = b.source(1, t), .b = b.source(2, t), .c = b.source(3, t)};
  op.d = b.destination(0, t);
  b.emit(op);
}

}  // namespace tgc::ptx
