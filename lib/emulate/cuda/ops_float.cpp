// Floating-point arithmetic. Approximations (ex2, rcp, ...) are computed by the host, within PTX's error bounds.
#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/integer_ops.h"
#include "lib/emulate/cuda/lanes.h"
#include "lib/emulate/numbers.h"

namespace tgc::ptx {
namespace {

template <class T>
T canonical(T x) {
  return x;
}
template <>
inline float canonical(float x) {
  return x != x ? std::bit_cast<float>(0x7fffffffu) : x;
}

using Add = decltype([](auto a, auto b) { return canonical(a + b); });
using Sub = decltype([](auto a, auto b) { return canonical(a - b); });
using Mul = decltype([](auto a, auto b) { return canonical(a * b); });
using Div = decltype([](auto a, auto b) { return canonical(a / b); });
using Fma = decltype([](auto a, auto b, auto c) { return canonical(std::fma(a, b, c)); });
// A NaN operand is ignored unless kNan; two NaNs give NaN; +0 is greater than -0.
template <bool kNan>
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a) return kNan ? canonical(a) : canonical(b);
    if (b != b) return kNan ? canonical(b) : a;
    return a < b || (a == b && std::signbit(a)) ? a : b;
  }
};
template <bool kNan>
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    if (a != a) return kNan ? canonical(a) : canonical(b);
    if (b != b) return kNan ? canonical(b) : a;
    return a > b || (a == b && !std::signbit(a)) ? a : b;
  }
};
using Abs = decltype([](auto a) { return std::fabs(a); });
using Neg = decltype([](auto a) { return -a; });
using Sqrt = decltype([](auto a) { return canonical(std::sqrt(a)); });
using Rcp = decltype([](auto a) { return canonical(1 / a); });
using Rsqrt = decltype([]<class T>(T a) { return canonical(T(1 / std::sqrt(double(a)))); });
using Ex2 = decltype([](float a) { return canonical(std::exp2(a)); });
using Lg2 = decltype([](float a) { return canonical(std::log2(a)); });
using Sin = decltype([](float a) { return canonical(std::sin(a)); });
using Cos = decltype([](float a) { return canonical(std::cos(a)); });
using Tanh = decltype([](float a) { return canonical(std::tanh(a)); });
using Copysign = decltype([](auto a, auto b) { return std::copysign(b, a); });

template <class F, bool kFtz, bool kSat>
struct Single {
  template <class... A>
  float operator()(A... a) const {
    float r = kFtz ? flush_subnormal(F()(flush_subnormal(a)...)) : F()(a...);
    return kSat ? (r > 0 ? r < 1 ? r : 1.0f : 0.0f) : r;
  }
};

// Halves are computed as floats, except fma, which adds in double and rounds the sum to odd, so that rounding it again
// is correct.
struct AsHalf {
  static float decode_float(uint16_t h) { return half_to_float(h); }
  static uint16_t encode_float(float x) { return float_to_half(x); }
  static uint16_t encode_float(double x) { return uint16_t(ptx::encode_float(x, kHalfLayout)); }
};
struct AsBfloat {
  static float decode_float(uint16_t h) { return bf16_to_float(h); }
  static uint16_t encode_float(float x) { return float_to_bf16(x); }
  static uint16_t encode_float(double x) { return uint16_t(ptx::encode_float(x, kBfloatLayout)); }
};
template <class As, class F, bool kRelu>
struct Small {
  template <class... A>
  uint16_t operator()(A... a) const {
    if constexpr (std::is_same_v<F, Neg>) return uint16_t((..., (a ^ 0x8000)));
    else if constexpr (std::is_same_v<F, Abs>) return uint16_t((..., (a & 0x7fff)));
    else return relu(value(a...));
  }

 private:
  static uint16_t relu(uint16_t r) { return kRelu && (r & 0x8000) ? uint16_t(0) : r; }
  template <class... A>
  static uint16_t value(A... a) {
    return As::encode_float(F()(As::decode_float(a)...));
  }
  static uint16_t value(uint16_t a, uint16_t b, uint16_t c) {
    return As::encode_float(
        add_round_to_odd(double(As::decode_float(a)) * double(As::decode_float(b)), double(As::decode_float(c))));
  }
};
template <class F>
struct Pair {
  template <class... A>
  uint32_t operator()(A... a) const {
    return uint32_t(F()(uint16_t(a)...)) | uint32_t(F()(uint16_t(a >> 16)...)) << 16;
  }
};

template <class D, class F, int kInputs>
void lanes_of(Warp& w, const Op& o) {
  if constexpr (kInputs == 1) apply_unary<D, F>(w, o);
  else if constexpr (kInputs == 2) apply_binary<D, F>(w, o);
  else apply_ternary<D, F>(w, o);
}

template <class F, int kInputs>
OpFunction single_run(const FloatFlags& f) {
  if (f.sat)
    return f.flushes_to_zero ? lanes_of<float, Single<F, true, true>, kInputs>
                             : lanes_of<float, Single<F, false, true>, kInputs>;
  return f.flushes_to_zero ? lanes_of<float, Single<F, true, false>, kInputs>
                           : lanes_of<float, Single<F, false, false>, kInputs>;
}
template <class D, class F, int kInputs>
OpFunction directed_run(int rounding) {
  constexpr OpFunction kInner = lanes_of<D, F, kInputs>;
  return rounding == 1   ? run_with_rounding<FE_TOWARDZERO, kInner>
         : rounding == 2 ? run_with_rounding<FE_DOWNWARD, kInner>
                         : run_with_rounding<FE_UPWARD, kInner>;
}
template <class As, class F, int kInputs>
OpFunction small_run(bool relu, bool two) {
  if (two)
    return relu ? lanes_of<uint32_t, Pair<Small<As, F, true>>, kInputs>
                : lanes_of<uint32_t, Pair<Small<As, F, false>>, kInputs>;
  return relu ? lanes_of<uint16_t, Small<As, F, true>, kInputs> : lanes_of<uint16_t, Small<As, F, false>, kInputs>;
}

// Returns null if F does not support the type with these modifiers.
template <class F, int kInputs, bool kDouble = true, bool kDirected = false>
OpFunction float_run(Type t, const FloatFlags& f) {
  bool directed = f.rounding > 0;
  if (f.relu && std::is_same_v<F, Fma> == false) return nullptr;
  if (t == Type::F32) {
    if (f.relu) return nullptr;
    if (!directed) return single_run<F, kInputs>(f);
    if constexpr (kDirected)
      return f.sat   ? nullptr
             : f.flushes_to_zero ? directed_run<float, Single<F, true, false>, kInputs>(f.rounding)
                     : directed_run<float, Single<F, false, false>, kInputs>(f.rounding);
    return nullptr;
  }
  if (f.sat || (t == Type::F64 && f.flushes_to_zero)) return nullptr;
  if (t == Type::F64) {
    if constexpr (kDouble) {
      if constexpr (kDirected)
        if (directed) return directed_run<double, F, kInputs>(f.rounding);
      return directed ? nullptr : OpFunction(lanes_of<double, F, kInputs>);
    }
    return nullptr;
  }
  if (directed || f.flushes_to_zero) return nullptr;
  bool two = info(t).count == 2;
  if (kind(t) == Kind::Float) return small_run<AsHalf, F, kInputs>(f.relu, two);
  if (kind(t) == Kind::BFloat) return small_run<AsBfloat, F, kInputs>(f.relu, two);
  return nullptr;
}

OpFunction run_of(FloatOp op, Type t, const FloatFlags& f) {
  switch (op) {
    case FloatOp::Add: return float_run<Add, 2, true, true>(t, f);
    case FloatOp::Sub: return float_run<Sub, 2, true, true>(t, f);
    case FloatOp::Mul: return float_run<Mul, 2, true, true>(t, f);
    case FloatOp::Div: return float_run<Div, 2, true, true>(t, f);
    case FloatOp::Fma: return float_run<Fma, 3, true, true>(t, f);
    case FloatOp::Sqrt: return float_run<Sqrt, 1, true, true>(t, f);
    case FloatOp::Rcp: return float_run<Rcp, 1, true, true>(t, f);
    case FloatOp::Min: return f.nan ? float_run<Min<true>, 2>(t, f) : float_run<Min<false>, 2>(t, f);
    case FloatOp::Max: return f.nan ? float_run<Max<true>, 2>(t, f) : float_run<Max<false>, 2>(t, f);
    case FloatOp::Abs: return float_run<Abs, 1>(t, f);
    case FloatOp::Neg: return float_run<Neg, 1>(t, f);
    case FloatOp::Rsqrt: return float_run<Rsqrt, 1>(t, f);
    case FloatOp::Copysign: return float_run<Copysign, 2>(t, f);
    case FloatOp::Ex2: return float_run<Ex2, 1, false>(t, f);
    case FloatOp::Lg2: return float_run<Lg2, 1, false>(t, f);
    case FloatOp::Sin: return float_run<Sin, 1, false>(t, f);
    case FloatOp::Cos: return float_run<Cos, 1, false>(t, f);
    case FloatOp::Tanh: return float_run<Tanh, 1, false>(t, f);
  }
  return nullptr;
}

template <FloatOp kOp>
void translate(CodeBuilder& b) {
  FloatFlags flags = read_float_flags(b);
  emit_float(b, kOp, b.expect_type(), flags);
}

constexpr OpcodeRow kRows[] = {
    {"fma", translate<FloatOp::Fma>},           {"sqrt", translate<FloatOp::Sqrt>}, {"rcp", translate<FloatOp::Rcp>},
    {"rsqrt", translate<FloatOp::Rsqrt>},       {"ex2", translate<FloatOp::Ex2>},   {"lg2", translate<FloatOp::Lg2>},
    {"sin", translate<FloatOp::Sin>},           {"cos", translate<FloatOp::Cos>},   {"tanh", translate<FloatOp::Tanh>},
    {"copysign", translate<FloatOp::Copysign>},
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
  OpFunction run = run_of(op, type, flags);
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
