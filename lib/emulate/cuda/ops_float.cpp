// Floating-point arithmetic. Approximations (ex2, rcp, ...) are computed by the host, within PTX's error bounds.
#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/integer_ops.h"
#include "lib/emulate/cuda/lanes.h"
#include "lib/emulate/numbers.h"

namespace tgc::ptx {
namespace {

template <class T>
T canonicalize_nan(T x) {
  return x;
}
template <>
inline float canonicalize_nan(float x) {
  return x != x ? std::bit_cast<float>(0x7fffffffu) : x;
}

using Add = decltype([](auto a, auto b) { return canonicalize_nan(a + b); });
using Sub = decltype([](auto a, auto b) { return canonicalize_nan(a - b); });
using Mul = decltype([](auto a, auto b) { return canonicalize_nan(a * b); });
using Div = decltype([](auto a, auto b) { return canonicalize_nan(a / b); });
using Fma = decltype([](auto a, auto b, auto c) { return canonicalize_nan(std::fma(a, b, c)); });
// A NaN operand is ignored unless kNan; two NaNs give NaN; +0 is greater than -0.
template <bool kNan>
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a) return kNan ? canonicalize_nan(a) : canonicalize_nan(b);
    if (b != b) return kNan ? canonicalize_nan(b) : a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  }
};
template <bool kNan>
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a) return kNan ? canonicalize_nan(a) : canonicalize_nan(b);
    if (b != b) return kNan ? canonicalize_nan(b) : a;
    return a > b || (a == b && !std::signbit(a)) ? a : b;
  }
};
using Abs = decltype([](auto a) { return std::fabs(a); });
using Neg = decltype([](auto a) { return -a; });
using Sqrt = decltype([](auto a) { return canonicalize_nan(std::sqrt(a)); });
using Rcp = decltype([](auto a) { return canonicalize_nan(1 / a); });
using Rsqrt = decltype([]<class T>(T a) { return canonicalize_nan(T(1 / std::sqrt(double(a)))); });
using Ex2 = decltype([](float a) { return canonicalize_nan(std::exp2(a)); });
using Lg2 = decltype([](float a) { return canonicalize_nan(std::log2(a)); });
using Sin = decltype([](float a) { return canonicalize_nan(std::sin(a)); });
using Cos = decltype([](float a) { return canonicalize_nan(std::cos(a)); });
using Tanh = decltype([](float a) { return canonicalize_nan(std::tanh(a)); });
using Copysign = decltype([](auto a, auto b) { return std::copysign(b, a); });

template <class F, bool kFtz, bool kSat>
struct SingleOp {
  template <class... A>
  float operator()(A... a) const {
    float r = kFtz ? flush_subnormal(F()(flush_subnormal(a)...)) : F()(a...);
    return kSat ? (r > 0 ? r < 1 ? r : 1.0f : 0.0f) : r;
  }
};

// Most operations on halves and bfloat16 compute in float. fma adds in double and rounds the sum to odd, so that
// rounding it again is correct.
struct HalfCodec {
  static float decode_float(uint16_t h) { return half_to_float(h); }
  static uint16_t encode_float(float x) { return float_to_half(x); }
  static uint16_t encode_float(double x) { return uint16_t(ptx::encode_float(x, kHalfLayout)); }
};
struct BfloatCodec {
  static float decode_float(uint16_t h) { return bf16_to_float(h); }
  static uint16_t encode_float(float x) { return float_to_bf16(x); }
  static uint16_t encode_float(double x) { return uint16_t(ptx::encode_float(x, kBfloatLayout)); }
};
template <class As, class F, bool kRelu>
struct SmallFloatOp {
  template <class... A>
  uint16_t operator()(A... a) const {
    if constexpr (std::is_same_v<F, Neg>) return uint16_t((..., (a ^ 0x8000)));
    else if constexpr (std::is_same_v<F, Abs>) return uint16_t((..., (a & 0x7fff)));
    else return relu(compute_value(a...));
  }

 private:
  static uint16_t relu(uint16_t r) { return kRelu && (r & 0x8000) ? uint16_t(0) : r; }
  template <class... A>
  static uint16_t compute_value(A... a) {
    return As::encode_float(F()(As::decode_float(a)...));
  }
  static uint16_t compute_value(uint16_t a, uint16_t b, uint16_t c) {
    return As::encode_float(
        add_round_to_odd(double(As::decode_float(a)) * double(As::decode_float(b)), double(As::decode_float(c))));
  }
};
template <class F>
struct PackedPairOp {
  template <class... A>
  uint32_t operator()(A... a) const {
    return uint32_t(F()(uint16_t(a)...)) | uint32_t(F()(uint16_t(a >> 16)...)) << 16;
  }
};

template <class D, class F, int kInputs>
void run_on_lanes(Warp& w, const Op& o) {
  if constexpr (kInputs == 1) apply_unary<D, F>(w, o);
  else if constexpr (kInputs == 2) apply_binary<D, F>(w, o);
  else apply_ternary<D, F>(w, o);
}

template <class F, int kInputs>
OpFunction single_float_handler(const FloatFlags& f) {
  if (f.sat)
    return f.flushes_to_zero ? run_on_lanes<float, SingleOp<F, true, true>, kInputs>
                             : run_on_lanes<float, SingleOp<F, false, true>, kInputs>;
  return f.flushes_to_zero ? run_on_lanes<float, SingleOp<F, true, false>, kInputs>
                           : run_on_lanes<float, SingleOp<F, false, false>, kInputs>;
}
template <class D, class F, int kInputs>
OpFunction rounded_float_handler(int rounding) {
  constexpr OpFunction kInner = run_on_lanes<D, F, kInputs>;
  return rounding == 1   ? run_with_rounding<FE_TOWARDZERO, kInner>
         : rounding == 2 ? run_with_rounding<FE_DOWNWARD, kInner>
                         : run_with_rounding<FE_UPWARD, kInner>;
}
template <class As, class F, int kInputs>
OpFunction small_float_handler(bool relu, bool two) {
  if (two)
    return relu ? run_on_lanes<uint32_t, PackedPairOp<SmallFloatOp<As, F, true>>, kInputs>
                : run_on_lanes<uint32_t, PackedPairOp<SmallFloatOp<As, F, false>>, kInputs>;
  return relu ? run_on_lanes<uint16_t, SmallFloatOp<As, F, true>, kInputs>
              : run_on_lanes<uint16_t, SmallFloatOp<As, F, false>, kInputs>;
}

// Returns null if F does not support the type with these modifiers.
template <class F, int kInputs, bool kDouble = true, bool kDirected = false>
OpFunction float_handler(Type t, const FloatFlags& f) {
  bool directed = f.rounding > 0;
  if (f.relu && std::is_same_v<F, Fma> == false) return nullptr;
  if (t == Type::F32) {
    if (f.relu) return nullptr;
    if (!directed) return single_float_handler<F, kInputs>(f);
    if constexpr (kDirected)
      return f.sat   ? nullptr
             : f.flushes_to_zero ? rounded_float_handler<float, SingleOp<F, true, false>, kInputs>(f.rounding)
                     : rounded_float_handler<float, SingleOp<F, false, false>, kInputs>(f.rounding);
    return nullptr;
  }
  if (f.sat || (t == Type::F64 && f.flushes_to_zero)) return nullptr;
  if (t == Type::F64) {
    if constexpr (kDouble) {
      if constexpr (kDirected)
        if (directed) return rounded_float_handler<double, F, kInputs>(f.rounding);
      return directed ? nullptr : OpFunction(run_on_lanes<double, F, kInputs>);
    }
    return nullptr;
  }
  if (directed || f.flushes_to_zero) return nullptr;
  bool two = info_of_type(t).count == 2;
  if (type_kind(t) == TypeKind::Float) return small_float_handler<HalfCodec, F, kInputs>(f.relu, two);
  if (type_kind(t) == TypeKind::BFloat) return small_float_handler<BfloatCodec, F, kInputs>(f.relu, two);
  return nullptr;
}

OpFunction float_op_handler(FloatOp op, Type t, const FloatFlags& f) {
  switch (op) {
    case FloatOp::Add: return float_handler<Add, 2, true, true>(t, f);
    case FloatOp::Sub: return float_handler<Sub, 2, true, true>(t, f);
    case FloatOp::Mul: return float_handler<Mul, 2, true, true>(t, f);
    case FloatOp::Div: return float_handler<Div, 2, true, true>(t, f);
    case FloatOp::Fma: return float_handler<Fma, 3, true, true>(t, f);
    case FloatOp::Sqrt: return float_handler<Sqrt, 1, true, true>(t, f);
    case FloatOp::Rcp: return float_handler<Rcp, 1, true, true>(t, f);
    case FloatOp::Min: return f.nan ? float_handler<Min<true>, 2>(t, f) : float_handler<Min<false>, 2>(t, f);
    case FloatOp::Max: return f.nan ? float_handler<Max<true>, 2>(t, f) : float_handler<Max<false>, 2>(t, f);
    case FloatOp::Abs: return float_handler<Abs, 1>(t, f);
    case FloatOp::Neg: return float_handler<Neg, 1>(t, f);
    case FloatOp::Rsqrt: return float_handler<Rsqrt, 1>(t, f);
    case FloatOp::Copysign: return float_handler<Copysign, 2>(t, f);
    case FloatOp::Ex2: return float_handler<Ex2, 1, false>(t, f);
    case FloatOp::Lg2: return float_handler<Lg2, 1, false>(t, f);
    case FloatOp::Sin: return float_handler<Sin, 1, false>(t, f);
    case FloatOp::Cos: return float_handler<Cos, 1, false>(t, f);
    case FloatOp::Tanh: return float_handler<Tanh, 1, false>(t, f);
  }
  return nullptr;
}

template <FloatOp kOp>
void translate_float(CodeBuilder& b) {
  FloatFlags flags = read_float_flags(b);
  emit_float(b, kOp, b.expect_type(), flags);
}

constexpr OpcodeRow kRows[] = {
    {"fma", translate_float<FloatOp::Fma>},   {"sqrt", translate_float<FloatOp::Sqrt>},
    {"rcp", translate_float<FloatOp::Rcp>},   {"rsqrt", translate_float<FloatOp::Rsqrt>},
    {"ex2", translate_float<FloatOp::Ex2>},   {"lg2", translate_float<FloatOp::Lg2>},
    {"sin", translate_float<FloatOp::Sin>},   {"cos", translate_float<FloatOp::Cos>},
    {"tanh", translate_float<FloatOp::Tanh>}, {"copysign", translate_float<FloatOp::Copysign>},
};

}  // namespace

FloatFlags read_float_flags(CodeBuilder& b) {
  FloatFlags f;
  for (;;) {
    int rounding = b.accept_any_modifier({"rn", "rz", "rm", "rp"});
    if (rounding >= 0) f.rounding = rounding;
    else if (b.accept_modifier("ftz")) f.flushes_to_zero = true;
    else if (b.accept_modifier("sat")) f.sat = true;
    else if (b.accept_modifier("approx")) f.approx = true;
    else if (b.accept_modifier("full")) f.full = true;
    else if (b.accept_modifier("relu")) f.relu = true;
    else if (b.accept_modifier("NaN")) f.nan = true;
    else return f;
  }
}

void emit_float(CodeBuilder& b, FloatOp op, Type type, FloatFlags flags) {
  OpFunction run = float_op_handler(op, type, flags);
  bool needs_rounding = op == FloatOp::Div || op == FloatOp::Sqrt || op == FloatOp::Rcp;
  bool approximates = op >= FloatOp::Rsqrt && op <= FloatOp::Tanh;
  if (needs_rounding && flags.rounding < 0 && !flags.approx && !flags.full)
    b.throw_error("neither a rounding nor .approx", ".rn or .approx");
  if (approximates && !flags.approx) b.throw_error(".approx is missing", ".approx");
  if (op == FloatOp::Fma && flags.rounding < 0) b.throw_error("a rounding is missing", ".rn");
  if (flags.nan && op != FloatOp::Min && op != FloatOp::Max) run = nullptr;
  if ((flags.approx && !needs_rounding && !approximates) || (flags.full && op != FloatOp::Div)) run = nullptr;
  if (!run) b.throw_error("its type or modifiers are not supported");
  if (op == FloatOp::Fma) return b.emit_value({.run = run}, type, {type, type, type});
  if (op <= FloatOp::Max || op == FloatOp::Copysign) return b.emit_value({.run = run}, type, {type, type});
  b.emit_value({.run = run}, type, {type});
}

std::span<const OpcodeRow> float_opcode_rows() { return kRows; }

}  // namespace tgc::ptx
