// Helpers of the integer instruction families: they select an operation by type and emit it with 1 to 3 sources.
#pragma once
#include <type_traits>

#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/lanes.h"

namespace tgc::ptx {

template <class T>
using UnsignedOf = std::make_unsigned_t<T>;
// The integer type with twice T's bits and T's signedness.
template <class T>
using WiderOf = std::conditional_t<
    std::is_signed_v<T>,
    std::conditional_t<sizeof(T) == 2, int32_t, std::conditional_t<sizeof(T) == 4, int64_t, __int128>>,
    std::conditional_t<sizeof(T) == 2, uint32_t, std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>>>;

template <class F>
Run for_integers_1(Type t) {
  return with_register(t, [](auto x) -> Run { return unary<decltype(x), F>; });
}
template <class F>
Run for_integers(Type t) {
  return with_register(t, [](auto x) -> Run { return binary<decltype(x), F>; });
}
template <class F>
Run for_integers_3(Type t) {
  return with_register(t, [](auto x) -> Run { return ternary<decltype(x), F>; });
}

inline Type integer_type(Builder& b) {
  Type t = b.type();
  if (!is_integer(t) || bits(t) < 16 || bits(t) > 64) b.fail_type(t);
  return t;
}

inline void emit_1(Builder& b, Type t, Run run) { b.emit_value({.run = run}, t, {t}); }
inline void emit_2(Builder& b, Type t, Run run) { b.emit_value({.run = run}, t, {t, t}); }
inline void emit_3(Builder& b, Type t, Run run) { b.emit_value({.run = run}, t, {t, t, t}); }

}  // namespace tgc::ptx
