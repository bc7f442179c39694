// Integer arithmetic, and the dispatch by type of opcodes that integers and floats share (add, mul, min, ...).
#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/integer_ops.h"
#include "lib/emulate/cuda/lanes.h"

namespace tgc::ptx {
namespace {

// Add, Sub and MulLo compute unsigned, to avoid signed overflow: results wrap around.
using Add = decltype([]<class T>(T a, T b) { return T(UnsignedOf<T>(a) + UnsignedOf<T>(b)); });
using Sub = decltype([]<class T>(T a, T b) { return T(UnsignedOf<T>(a) - UnsignedOf<T>(b)); });
using MulLo = decltype([]<class T>(T a, T b) { return T(1u * UnsignedOf<T>(a) * UnsignedOf<T>(b)); });
using MulHi = decltype([]<class T>(T a, T b) { return T((WiderOf<T>(a) * WiderOf<T>(b)) >> (8 * sizeof(T))); });
template <class T>
T saturate(WiderOf<T> x) {
  WiderOf<T> most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  return T(x > most ? most : x < least ? least : x);
}
using AddSat = decltype([]<class T>(T a, T b) { return saturate<T>(WiderOf<T>(a) + b); });
using SubSat = decltype([]<class T>(T a, T b) { return saturate<T>(WiderOf<T>(a) - b); });
// PTX leaves the quotient of a division by zero unspecified. Here, all its bits are set, as on GPUs.
using Div = decltype([]<class T>(T a, T b) {
  if (b == 0) return T(-1);
  return std::is_signed_v<T> && b == T(-1) ? T(0 - UnsignedOf<T>(a)) : T(a / b);
});
using Rem = decltype([]<class T>(T a, T b) {
  if (b == 0) return a;
  return std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b);
});
using Min = decltype([](auto a, auto b) { return b < a ? b : a; });
using Max = decltype([](auto a, auto b) { return a < b ? b : a; });
using Abs = decltype([]<class T>(T a) { return a < 0 ? T(0 - UnsignedOf<T>(a)) : a; });
using Neg = decltype([]<class T>(T a) { return T(0 - UnsignedOf<T>(a)); });
using MadLo = decltype([]<class T>(T a, T b, T c) {
  return T(1u * UnsignedOf<T>(a) * UnsignedOf<T>(b) + UnsignedOf<T>(c));
});
using MadHi = decltype([](auto a, auto b, auto c) { return Add()(MulHi()(a, b), c); });
using Sad = decltype([]<class T>(T a, T b, T c) {
  return T(UnsignedOf<T>(c) + UnsignedOf<T>(a < b ? Sub()(b, a) : Sub()(a, b)));
});
template <bool kSigned>
struct Mul24 {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    return kSigned ? uint32_t(int64_t(int32_t(a << 8) >> 8) * (int32_t(b << 8) >> 8)) : (a & 0xffffff) * (b & 0xffffff);
  }
};

template <class F, class Saturating>
void add_or_sub(CodeBuilder& b) {
  FloatFlags flags = read_float_flags(b);
  Type t = b.expect_type();
  if (!is_integer(t)) return emit_float(b, std::is_same_v<F, Add> ? FloatOp::Add : FloatOp::Sub, t, flags);
  bool saturates = flags.sat;
  flags.sat = false;
  if (flags.has_any_flag() || bits(t) < 16 || bits(t) > 64 || (saturates && t != Type::S32))
    b.throw_error("modifiers that do not go with the type");
  emit_binary(b, t, saturates ? binary_handler<Saturating>(t) : binary_handler<F>(t));
}
template <class F>
void min_or_max(CodeBuilder& b) {
  FloatFlags flags = read_float_flags(b);
  Type t = b.expect_type();
  if (!is_integer(t)) return emit_float(b, std::is_same_v<F, Min> ? FloatOp::Min : FloatOp::Max, t, flags);
  if (flags.has_any_flag() || bits(t) < 16) b.throw_error("modifiers that do not go with the type");
  emit_binary(b, t, binary_handler<F>(t));
}
template <class F>
void abs_or_neg(CodeBuilder& b) {
  FloatFlags flags = read_float_flags(b);
  Type t = b.expect_type();
  if (!is_integer(t)) return emit_float(b, std::is_same_v<F, Abs> ? FloatOp::Abs : FloatOp::Neg, t, flags);
  if (flags.has_any_flag() || !is_signed(t) || bits(t) < 16) b.throw_error("modifiers that do not go with the type");
  emit_unary(b, t, unary_handler<F>(t));
}

template <class T>
void mul_wide(Warp& w, const Op& o) {
  const T *a = register_lanes<T>(w, o.a), *b = register_lanes<T>(w, o.b);
  write_lanes<WiderOf<T>>(w, o.d, [&](int i) { return WiderOf<T>(WiderOf<T>(a[i]) * WiderOf<T>(b[i])); });
}
template <class T>
void mad_wide(Warp& w, const Op& o) {
  const T *a = register_lanes<T>(w, o.a), *b = register_lanes<T>(w, o.b);
  const auto* c = register_lanes<UnsignedOf<WiderOf<T>>>(w, o.c);
  write_lanes<UnsignedOf<WiderOf<T>>>(
      w, o.d, [&](int i) { return UnsignedOf<WiderOf<T>>(UnsignedOf<WiderOf<T>>(WiderOf<T>(a[i]) * b[i]) + c[i]); });
}
OpFunction wide_product_handler(Type t, bool adds) {
  switch (t) {
    case Type::U16: return adds ? mad_wide<uint16_t> : mul_wide<uint16_t>;
    case Type::S16: return adds ? mad_wide<int16_t> : mul_wide<int16_t>;
    case Type::U32: return adds ? mad_wide<uint32_t> : mul_wide<uint32_t>;
    case Type::S32: return adds ? mad_wide<int32_t> : mul_wide<int32_t>;
    default: return nullptr;
  }
}

void multiply(CodeBuilder& b, bool adds) {
  int part = b.accept_any_modifier({"lo", "hi", "wide"});
  FloatFlags flags = part < 0 ? read_float_flags(b) : FloatFlags{};
  Type t = b.expect_type();
  if (!is_integer(t) && part < 0) return emit_float(b, adds ? FloatOp::Fma : FloatOp::Mul, t, flags);
  if (!is_integer(t) || type_kind(t) == TypeKind::Bits || part < 0 || bits(t) < 16)
    b.throw_error("the product's part or type is missing", ".lo, .hi or .wide and a type");
  if (part == 2) {
    OpFunction run = wide_product_handler(t, adds);
    if (!run) b.throw_error("a wide product of ." + std::string(ptx_name(t)));
    Type twice = bits(t) == 16 ? (is_signed(t) ? Type::S32 : Type::U32) : (is_signed(t) ? Type::S64 : Type::U64);
    if (adds) return b.emit_value({.run = run}, twice, {t, t, twice});
    return b.emit_value({.run = run}, twice, {t, t});
  }
  if (adds) emit_ternary(b, t, part == 0 ? ternary_handler<MadLo>(t) : ternary_handler<MadHi>(t));
  else emit_binary(b, t, part == 0 ? binary_handler<MulLo>(t) : binary_handler<MulHi>(t));
}

void divide(CodeBuilder& b) {
  FloatFlags flags = read_float_flags(b);
  Type t = b.expect_type();
  if (!is_integer(t)) return emit_float(b, FloatOp::Div, t, flags);
  if (flags.has_any_flag() || type_kind(t) == TypeKind::Bits || bits(t) < 16)
    b.throw_error("modifiers that do not go with the type");
  emit_binary(b, t, binary_handler<Div>(t));
}

template <bool kSignedA, bool kSignedB>
struct Dot4 {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    for (int n = 0; n < 32; n += 8) {
      int32_t x = kSignedA ? int32_t(int8_t(a >> n)) : int32_t(uint8_t(a >> n));
      int32_t y = kSignedB ? int32_t(int8_t(b >> n)) : int32_t(uint8_t(b >> n));
      c += uint32_t(x * y);
    }
    return c;
  }
};
void dp4a(CodeBuilder& b) {
  Type x = b.expect_type(), y = b.expect_type();
  if (bits(x) != 32 || bits(y) != 32) b.throw_error("types of 32 bits are wanted", ".u32 or .s32 twice");
  OpFunction run =
      is_signed(x)
          ? (is_signed(y) ? apply_ternary<uint32_t, Dot4<true, true>> : apply_ternary<uint32_t, Dot4<true, false>>)
          : (is_signed(y) ? apply_ternary<uint32_t, Dot4<false, true>> : apply_ternary<uint32_t, Dot4<false, false>>);
  emit_ternary(b, Type::B32, run);
}

void mul24(CodeBuilder& b) {
  if (!b.accept_modifier("lo")) b.throw_error("only the low part is supported", ".lo");
  Type t = expect_integer_type(b);
  emit_binary(b, t, is_signed(t) ? apply_binary<uint32_t, Mul24<true>> : apply_binary<uint32_t, Mul24<false>>);
}

constexpr OpcodeRow kRows[] = {
    {"add", add_or_sub<Add, AddSat>},
    {"sub", add_or_sub<Sub, SubSat>},
    {"mul", [](CodeBuilder& b) { multiply(b, false); }},
    {"mad", [](CodeBuilder& b) { multiply(b, true); }},
    {"mul24", mul24},
    {"div", divide},
    {"rem",
     [](CodeBuilder& b) {
       Type t = expect_integer_type(b);
       emit_binary(b, t, binary_handler<Rem>(t));
     }},
    {"min", min_or_max<Min>},
    {"max", min_or_max<Max>},
    {"abs", abs_or_neg<Abs>},
    {"neg", abs_or_neg<Neg>},
    {"sad",
     [](CodeBuilder& b) {
       Type t = expect_integer_type(b);
       emit_ternary(b, t, ternary_handler<Sad>(t));
     }},
    {"dp4a", dp4a},
};

}  // namespace

std::span<const OpcodeRow> arithmetic_opcode_rows() { return kRows; }

}  // namespace tgc::ptx
