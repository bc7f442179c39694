// Floating-point arithmetic, called by the instruction families.
#pragma once
#include "lib/emulate/cuda/builder.h"

namespace tgc::ptx {

enum class FloatOp : uint8_t {
  Add, Sub, Mul, Fma, Div, Min, Max, Abs, Neg,
  Sqrt, Rcp, Rsqrt, Ex2, Lg2, Sin, Cos, Tanh, Copysign,
};

// The modifiers of floating-point instructions.
struct FloatFlags {
  int rounding = -1;  // index in {rn, rz, rm, rp}; -1: none
  bool ftz = false, sat = false, approx = false, full = false, relu = false, nan = false;
  bool any() const { return rounding >= 0 || ftz || sat || approx || full || relu || nan; }
};
FloatFlags take_float_flags(Builder& b);  // consumes the instruction's modifiers, which may be in any order

// Emits the current instruction. The caller must already have consumed its modifiers and its type.
void emit_float(Builder& b, FloatOp op, Type type, FloatFlags flags);

}  // namespace tgc::ptx
