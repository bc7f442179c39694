// Floating point arithmetic as the other families call it.
#pragma once
#include "lib/emulate/cuda/builder.h"

namespace tgc::ptx {

enum class FloatOp : uint8_t {
  Add,
  Sub,
  Mul,
  Fma,
  Div,
  Min,
  Max,
  Abs,
  Neg,
  Sqrt,
  Rcp,
  Rsqrt,
  Ex2,
  Lg2,
  Sin,
  Cos,
  Tanh,
  Copysign
};

// The modifiers of floats, in any order.
struct FloatFlags {
  int rounding = -1;  // of rn, rz, rm, rp
  bool ftz = false, sat = false, approx = false, full = false, relu = false, nan = false;
  bool any() const { return rounding >= 0 || ftz || sat || approx || full || relu || nan; }
};
FloatFlags take_float_flags(Builder& b);

// Emits the instruction at hand, whose modifiers and type are taken.
void emit_float(Builder& b, FloatOp op, Type type, FloatFlags flags);

}  // namespace tgc::ptx
