// cvt, cvta, and the widening and narrowing of registers. Common conversions are vectorizable loops; the others convert
// each lane through double.
#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/lanes.h"
#include "lib/emulate/numbers.h"

namespace tgc::ptx {
namespace {

template <class F>
OpFunction dispatch_on_integer_type(Type t, F f) {
  if (bits(t) == 8) return is_signed(t) ? f(int8_t()) : f(uint8_t());
  return run_with_register(t, f);
}
// The register type of an integer type: 8-bit integers have 16-bit registers.
template <class T>
using RegisterOf = std::conditional_t<sizeof(T) == 1, std::conditional_t<std::is_signed_v<T>, int16_t, uint16_t>, T>;

template <class S, class D, bool kSat>
void int_to_int(Warp& w, const Op& o) {
  const auto* a = register_lanes<RegisterOf<S>>(w, o.a);
  write_lanes<RegisterOf<D>>(w, o.d, [&](int i) {
    S x = S(a[i]);
    if constexpr (kSat) {
      using Limits = std::numeric_limits<D>;
      if (std::cmp_greater(x, Limits::max())) return RegisterOf<D>(Limits::max());
      if (std::cmp_less(x, Limits::min())) return RegisterOf<D>(Limits::min());
    }
    return RegisterOf<D>(D(x));
  });
}

template <class F>
OpFunction dispatch_on_float_type(Type t, F f) {
  switch (t) {
    case Type::F16: return f(HalfDecoder());
    case Type::BF16: return f(BfloatDecoder());
    case Type::F32: return f(NativeDecoder<float>());
    case Type::F64: return f(NativeDecoder<double>());
    default: return nullptr;
  }
}

template <int kRounding, class T>
T round_to_integral(T x) {
  if constexpr (kRounding == 0) return std::nearbyint(x);
  if constexpr (kRounding == 1) return std::trunc(x);
  if constexpr (kRounding == 2) return std::floor(x);
  return std::ceil(x);
}
template <class F>
auto dispatch_on_rounding(int n, F f) {
  switch (n) {
    case 0: return f(std::integral_constant<int, 0>());
    case 1: return f(std::integral_constant<int, 1>());
    case 2: return f(std::integral_constant<int, 2>());
    default: return f(std::integral_constant<int, 3>());
  }
}

// Rounds the lanes of a float register to integers (`rounding`: 0 to 3 for rni, rzi, rmi, rpi). Not inlined, so that it
// is not compiled anew for each destination type.
template <class S, class V>
[[gnu::noinline]] void read_rounded_lanes(const typename S::Bits* a, int rounding, bool ftz, V (&out)[kNumLanes]) {
  dispatch_on_rounding(rounding, [&](auto n) {
    TGC_LANES {
      V x = S::decode_float(a[i]);
      if constexpr (std::is_same_v<V, float>) x = ftz ? flush_subnormal(x) : x;
      out[i] = round_to_integral<decltype(n)::value>(x);
    }
  });
}

// Rounds to an integer and saturates to D's range; NaN becomes 0.
template <class S, class D>
void float_to_int(Warp& w, const Op& o) {
  using V = decltype(S::decode_float({}));
  V whole[kNumLanes];
  read_rounded_lanes<S>(register_lanes<typename S::Bits>(w, o.a), int(o.num_more_operands >> 2),
                        o.num_more_operands & 1, whole);
  write_lanes<RegisterOf<D>>(w, o.d, [&](int i) {
    V x = whole[i];
    constexpr V kTop = V(std::numeric_limits<D>::max() / 2 + 1) * 2;  // one more than D's maximum; exact in V
    constexpr V kLeast = V(std::numeric_limits<D>::min());
    D out = x >= kTop    ? std::numeric_limits<D>::max()
            : x > kLeast ? D(x < kTop ? x : V(0))
                         : std::numeric_limits<D>::min();
    return RegisterOf<D>(x != x ? D(0) : out);
  });
}

template <class S, class D>
[[gnu::noinline]] void int_to_native(Warp& w, const Op& o) {
  const auto* a = register_lanes<RegisterOf<S>>(w, o.a);
  bool sat = o.num_more_operands;
  write_lanes<D>(w, o.d, [&](int i) {
    D x = D(S(a[i]));
    return sat ? (x > 0 ? x < 1 ? x : D(1) : D(0)) : x;
  });
}
const FloatLayout& layout_of_float_type(Type t) {
  return type_kind(t) == TypeKind::BFloat ? kBfloatLayout
         : type_kind(t) == TypeKind::Tf32 ? kTf32
         : type_kind(t) == TypeKind::E4m3 ? kE4m3
         : type_kind(t) == TypeKind::E5m2 ? kE5m2
                                 : kHalfLayout;
}
struct SmallConversion {
  Type type;
  Rounding rounding;
  bool finite, relu, sat;
  int64_t encode_as_immediate() const {
    return int64_t(type) | int64_t(rounding) << 8 | int64_t(finite) << 16 | int64_t(relu) << 17 | int64_t(sat) << 18;
  }
  explicit SmallConversion(int64_t v)
      : type(Type(v & 255)),
        rounding(Rounding(v >> 8 & 255)),
        finite(v >> 16 & 1),
        relu(v >> 17 & 1),
        sat(v >> 18 & 1) {}
  SmallConversion(Type t, Rounding r, bool finite, bool relu, bool sat)
      : type(t), rounding(r), finite(finite), relu(relu), sat(sat) {}
  uint32_t convert(double x) const {
    if (relu && x < 0) x = 0;
    if (relu && x == 0) x = 0;
    if (sat) x = x > 0 ? x < 1 ? x : 1.0 : 0.0;
    uint32_t out = encode_float(x, layout_of_float_type(type), rounding, finite);
    return type == Type::TF32 ? out << 13 : out;
  }
};

template <class S>
void int_to_small(Warp& w, const Op& o) {
  SmallConversion conversion(o.immediate);
  const auto* a = register_lanes<RegisterOf<S>>(w, o.a);
  write_lanes<uint16_t>(w, o.d, [&](int i) {
    double x;
    if constexpr (sizeof(S) == 8) x = round_to_odd(a[i]);
    else x = double(S(a[i]));
    return uint16_t(conversion.convert(x));
  });
}

template <class S, class D>
[[gnu::noinline]] void float_to_native(Warp& w, const Op& o) {
  const auto* a = register_lanes<typename S::Bits>(w, o.a);
  bool ftz = o.num_more_operands & 1, sat = o.num_more_operands & 2;
  write_lanes<D>(w, o.d, [&](int i) {
    auto in = S::decode_float(a[i]);
    if constexpr (std::is_same_v<D, double> && std::is_same_v<decltype(in), float>) in = ftz ? flush_subnormal(in) : in;
    D x = D(in);
    if constexpr (std::is_same_v<D, float>) {
      if (ftz) x = flush_subnormal(x);
      if (x != x) x = std::bit_cast<float>(0x7fffffffu);
    }
    return sat ? (x > 0 ? x < 1 ? x : D(1) : D(0)) : x;
  });
}
template <class S, class D>
void float_to_integral(Warp& w, const Op& o) {
  decltype(S::decode_float({})) whole[kNumLanes];
  read_rounded_lanes<S>(register_lanes<typename S::Bits>(w, o.a), int(o.num_more_operands >> 2),
                        o.num_more_operands & 1, whole);
  bool sat = o.num_more_operands & 2;
  write_lanes<D>(w, o.d, [&](int i) {
    D x = D(whole[i]);
    return sat ? (x > 0 ? x < 1 ? x : D(1) : D(0)) : x;
  });
}
template <bool kBf>
void single_to_small(Warp& w, const Op& o) {
  const float* a = register_lanes<float>(w, o.a);
  write_lanes<uint16_t>(w, o.d, [&](int i) { return kBf ? float_to_bf16(a[i]) : float_to_half(a[i]); });
}
template <class S>
void float_to_small(Warp& w, const Op& o) {
  SmallConversion conversion(o.immediate);
  const auto* a = register_lanes<typename S::Bits>(w, o.a);
  if (conversion.type == Type::TF32)
    write_lanes<uint32_t>(w, o.d, [&](int i) { return conversion.convert(double(S::decode_float(a[i]))); });
  else
    write_lanes<uint16_t>(w, o.d, [&](int i) { return uint16_t(conversion.convert(double(S::decode_float(a[i])))); });
}
template <class S>
void float_to_integral_small(Warp& w, const Op& o) {
  SmallConversion conversion(o.immediate);
  decltype(S::decode_float({})) whole[kNumLanes];
  read_rounded_lanes<S>(register_lanes<typename S::Bits>(w, o.a), int(o.num_more_operands >> 2), false, whole);
  write_lanes<uint16_t>(w, o.d, [&](int i) { return uint16_t(conversion.convert(double(whole[i]))); });
}

// Converts two floats into one register. The first source becomes the upper half.
template <class D>
void pair_of_singles(Warp& w, const Op& o) {
  SmallConversion conversion(o.immediate);
  const float *a = register_lanes<float>(w, o.a), *b = register_lanes<float>(w, o.b);
  write_lanes<D>(w, o.d, [&](int i) {
    return D(conversion.convert(double(a[i])) << (4 * sizeof(D)) | conversion.convert(double(b[i])));
  });
}
template <class D, class S>
void pair_to_pair(Warp& w, const Op& o) {
  SmallConversion conversion(o.immediate);
  const FloatLayout& from = layout_of_float_type(Type(o.num_more_operands));
  const S* a = register_lanes<S>(w, o.a);
  constexpr uint32_t kMask = (1u << (4 * sizeof(S))) - 1;
  write_lanes<D>(w, o.d, [&](int i) {
    uint32_t high = conversion.convert(decode_float(uint32_t(a[i]) >> (4 * sizeof(S)) & kMask, from));
    return D(high << (4 * sizeof(D)) | conversion.convert(decode_float(uint32_t(a[i]) & kMask, from)));
  });
}

struct ConvertModifiers {
  int integral_rounding = -1;     // index in rni, rzi, rmi, rpi; -1: none
  int rounding = -1;  // index in rn, rz, rm, rp, rna; -1: none
  bool ftz = false, sat = false, finite = false, relu = false;
};
ConvertModifiers parse_convert_modifiers(CodeBuilder& b) {
  ConvertModifiers m;
  for (;;) {
    if (int n = b.accept_any_modifier({"rni", "rzi", "rmi", "rpi"}); n >= 0) m.integral_rounding = n;
    else if (int r = b.accept_any_modifier({"rn", "rz", "rm", "rp", "rna"}); r >= 0) m.rounding = r;
    else if (b.accept_modifier("ftz")) m.ftz = true;
    else if (b.accept_modifier("sat")) m.sat = true;
    else if (b.accept_modifier("satfinite")) m.finite = true;
    else if (b.accept_modifier("relu")) m.relu = true;
    else return m;
  }
}

bool is_16_bit_float(Type t) { return t == Type::F16 || t == Type::BF16; }
bool is_float(Type t) { return !is_integer(t) && t != Type::Pred; }

// Returns an operation that runs kInner in the host's rounding mode `rounding`: 0 to 3 for rn, rz, rm, rp; -1: rn.
template <OpFunction kInner>
OpFunction handler_with_rounding(int rounding) {
  return rounding <= 0   ? kInner
         : rounding == 1 ? run_with_rounding<FE_TOWARDZERO, kInner>
         : rounding == 2 ? run_with_rounding<FE_DOWNWARD, kInner>
                         : run_with_rounding<FE_UPWARD, kInner>;
}

OpFunction scalar_conversion_handler(Type d, Type s, const ConvertModifiers& m, Op& op) {
  SmallConversion conversion(d, Rounding(std::max(m.rounding, 0)), m.finite, m.relu, m.sat);
  op.immediate = conversion.encode_as_immediate();
  op.num_more_operands = uint32_t(m.ftz) | uint32_t(m.sat) << 1 | uint32_t(std::max(m.integral_rounding, 0)) << 2;
  if (is_integer(s) && is_integer(d))
    return dispatch_on_integer_type(s, [&](auto from) {
      using S = decltype(from);
      return dispatch_on_integer_type(d, [&](auto to) -> OpFunction {
        using D = decltype(to);
        return m.sat ? int_to_int<S, D, true> : int_to_int<S, D, false>;
      });
    });
  if (is_integer(s)) {
    op.num_more_operands = m.sat;
    return dispatch_on_integer_type(s, [&](auto from) -> OpFunction {
      using S = decltype(from);
      if (is_16_bit_float(d)) return int_to_small<S>;
      if (d == Type::F32) return handler_with_rounding<int_to_native<S, float>>(m.rounding);
      return d == Type::F64 ? handler_with_rounding<int_to_native<S, double>>(m.rounding) : nullptr;
    });
  }
  if (is_integer(d)) {
    return dispatch_on_float_type(s, [&](auto from) {
      using S = decltype(from);
      return dispatch_on_integer_type(d, [&](auto to) -> OpFunction { return float_to_int<S, decltype(to)>; });
    });
  }
  if (!is_16_bit_float(d) && d != Type::TF32 && d != Type::F32 && d != Type::F64) return nullptr;
  if (s == Type::F32 && is_16_bit_float(d) && m.rounding <= 0 && m.integral_rounding < 0 && !m.sat && !m.relu &&
      !m.finite && !m.ftz)
    return d == Type::F16 ? single_to_small<false> : single_to_small<true>;
  return dispatch_on_float_type(s, [&](auto from) -> OpFunction {
    using S = decltype(from);
    if (is_16_bit_float(d) || d == Type::TF32) {
      return m.integral_rounding >= 0 && d != Type::TF32 ? float_to_integral_small<S> : float_to_small<S>;
    }
    if (m.integral_rounding >= 0) return d == Type::F32 ? float_to_integral<S, float> : float_to_integral<S, double>;
    return d == Type::F32 ? handler_with_rounding<float_to_native<S, float>>(m.rounding)
                          : handler_with_rounding<float_to_native<S, double>>(m.rounding);
  });
}

void convert_pair(CodeBuilder& b, Type d, Type s, const ConvertModifiers& m) {
  Op op{.num_more_operands = uint32_t(s)};
  op.immediate = SmallConversion(d, Rounding(std::max(m.rounding, 0)), m.finite, m.relu, false).encode_as_immediate();
  if (s == Type::F32 && info_of_type(d).count == 2) {
    b.check_operand_count(3);
    op.run = bits(d) == 32 ? pair_of_singles<uint32_t> : pair_of_singles<uint16_t>;
    op.a = b.source_register(1, s), op.b = b.source_register(2, s);
  } else {
    b.check_operand_count(2);
    if (info_of_type(s).count != 2 || info_of_type(d).count != 2 || bits(s) == bits(d))
      b.throw_error("its types do not go together");
    op.run =
        bits(d) == 16 ? OpFunction(pair_to_pair<uint16_t, uint32_t>) : OpFunction(pair_to_pair<uint32_t, uint16_t>);
    op.a = b.source_register(1, s);
  }
  op.d = b.output_register(0, d);
  b.emit_op(op);
}

void cvt(CodeBuilder& b) {
  ConvertModifiers m = parse_convert_modifiers(b);
  Type d = b.expect_type(), s = b.expect_type();
  b.refuse_more_modifiers();
  if (info_of_type(d).count == 2 || info_of_type(s).count == 2) return convert_pair(b, d, s, m);
  b.check_operand_count(2);
  bool narrows = is_float(d) && is_float(s) && bits(d) < bits(s) && m.integral_rounding < 0;
  bool from_integer = is_integer(s) && is_float(d);
  if (is_float(s) && is_integer(d) && m.integral_rounding < 0)
    b.throw_error("a rounding is missing", ".rzi, .rni, .rmi or .rpi");
  if ((narrows || from_integer) && m.rounding < 0) b.throw_error("a rounding is missing", ".rn, .rz, .rm or .rp");
  if (m.rounding == 4 && d != Type::TF32) b.throw_error(".rna goes with .tf32 alone");
  Op op;
  if (m.rounding != 4) {
    op.run = scalar_conversion_handler(d, s, m, op);
  } else if (s == Type::F32) {
    op.run = [](Warp& w, const Op& o) {  // .rna: ties are rounded away from zero
      const uint32_t* a = register_lanes<uint32_t>(w, o.a);
      write_lanes<uint32_t>(w, o.d,
                      [&](int i) { return (a[i] & 0x7fffffff) > 0x7f800000 ? a[i] : (a[i] + 0x1000) & ~0x1fffu; });
    };
  }
  if (!op.run) b.throw_error("its types do not go together");
  op.a = b.source_register(1, s, WidthRule::Wider);
  op.d = b.output_register(0, d, WidthRule::Wider);
  b.emit_op(op);
}

// Implements cvta: converts between a space's offset and its generic address by adding or subtracting the window's
// base.
template <bool kToGeneric>
void run_window_move(Warp& w, const Op& o) {
  const uint64_t* a = register_lanes<uint64_t>(w, o.a);
  uint64_t base = uint64_t(o.immediate);
  write_lanes<uint64_t>(w, o.d, [&](int i) { return kToGeneric ? a[i] + base : a[i] - base; });
}
void cvta(CodeBuilder& b) {
  bool to = b.accept_modifier("to");
  int space = b.accept_any_modifier({"global", "const", "shared", "local", "param"});
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  b.check_operand_count(2);
  if (space < 0 || space == 4 || t != Type::U64) b.throw_error("its space or type is not supported");
  uint64_t base = space == 2 ? kSharedWindowAddress : space == 3 ? kLocalWindowAddress : 0;
  Op op{.run = to ? run_window_move<false> : run_window_move<true>,
        .a = b.source_register(1, t),
        .immediate = int64_t(base)};
  op.d = b.output_register(0, t);
  b.emit_op(op);
}

constexpr OpcodeRow kRows[] = {{"cvt", cvt}, {"cvta", cvta}};

template <class S, class D>
void run_resize(Warp& w, const Op& o) {
  const S* a = register_lanes<S>(w, o.a);
  write_lanes<D>(w, o.d, [&](int i) { return D(a[i]); });
}
template <class S>
OpFunction resize_handler(unsigned to) {
  return to == 16   ? run_resize<S, uint16_t>
         : to == 32 ? run_resize<S, uint32_t>
         : to == 64 ? run_resize<S, uint64_t>
                    : run_resize<S, unsigned __int128>;
}

}  // namespace

std::span<const OpcodeRow> convert_opcode_rows() { return kRows; }

OpFunction narrowing_handler(unsigned from, unsigned to) {
  if (from == 16) return resize_handler<uint16_t>(to);
  return from == 32   ? resize_handler<uint32_t>(to)
         : from == 64 ? resize_handler<uint64_t>(to)
                      : resize_handler<unsigned __int128>(to);
}
OpFunction widening_handler(unsigned from, unsigned to, bool is_signed) {
  if (from == 16) return is_signed ? resize_handler<int16_t>(to) : resize_handler<uint16_t>(to);
  if (from == 32) return is_signed ? resize_handler<int32_t>(to) : resize_handler<uint32_t>(to);
  return is_signed ? resize_handler<int64_t>(to) : resize_handler<uint64_t>(to);
}

}  // namespace tgc::ptx
