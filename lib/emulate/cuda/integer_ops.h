// Helpers of the integer instruction families, and emit_float() for floating-point instructions.
#pragma once
#include <type_traits>

#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/lanes.h"

namespace tgc::ptx {

template <class T>
using UnsignedOf = std::make_unsigned_t<T>;
template <class T>
using WiderOf = std::conditional_t<
    std::is_signed_v<T>,
    std::conditional_t<sizeof(T) == 2, int32_t, std::conditional_t<sizeof(T) == 4, int64_t, __int128>>,
    std::conditional_t<sizeof(T) == 2, uint32_t, std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>>>;

template <class F>
OpFunction unary_handler(Type t) {
  return run_with_register(t, [](auto x) -> OpFunction { return apply_unary<decltype(x), F>; });
}
template <class F>
OpFunction binary_handler(Type t) {
  return run_with_register(t, [](auto x) -> OpFunction { return apply_binary<decltype(x), F>; });
}
template <class F>
OpFunction ternary_handler(Type t) {
  return run_with_register(t, [](auto x) -> OpFunction { return apply_ternary<decltype(x), F>; });
}

inline Type expect_integer_type(CodeBuilder& b) {
  Type t = b.expect_type();
  if (!is_integer(t) || bits(t) < 16 || bits(t) > 64) b.throw_type_error(t);
  return t;
}

inline void emit_unary(CodeBuilder& b, Type t, OpFunction run) { b.emit_value({.run = run}, t, {t}); }
inline void emit_binary(CodeBuilder& b, Type t, OpFunction run) { b.emit_value({.run = run}, t, {t, t}); }
inline void emit_ternary(CodeBuilder& b, Type t, OpFunction run) { b.emit_value({.run = run}, t, {t, t, t}); }

enum class FloatOp : uint8_t {
  Add, Sub, Mul, Fma, Div, Min, Max, Abs, Neg,
  Sqrt, Rcp, Rsqrt, Ex2, Lg2, Sin, Cos, Tanh, Copysign,
};

struct FloatFlags {
  int rounding = -1;  // index in {rn, rz, rm, rp}; -1: none
  bool flushes_to_zero = false, sat = false, approx = false, full = false, relu = false, nan = false;
  bool has_any_flag() const { return rounding >= 0 || flushes_to_zero || sat || approx || full || relu || nan; }
};
FloatFlags read_float_flags(CodeBuilder& b);  // accepts the modifiers in any order

// Emits the current instruction, whose modifiers `flags` and type the caller has consumed. Throws Failure if the
// instruction is malformed or not supported.
void emit_float(CodeBuilder& b, FloatOp op, Type type, FloatFlags flags);

}  // namespace tgc::ptx
