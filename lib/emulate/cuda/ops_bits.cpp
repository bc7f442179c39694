#include <functional>

#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/integer_ops.h"
#include "lib/emulate/cuda/lanes.h"

namespace tgc::ptx {
namespace {

using Cnot = decltype([](auto a) { return a == 0; });
using ReverseBits = decltype([]<class T>(T a) {
  T out = 0;
  for (size_t n = 0; n < 8 * sizeof(T); n++) out = T(out << 1) | T(a >> n & 1);
  return out;
});

template <class F>
void run_predicate_op(Warp& w, const Op& o) {
  uint32_t& d = *register_lanes<uint32_t>(w, o.d);
  uint32_t value = F()(*register_lanes<uint32_t>(w, o.a), *register_lanes<uint32_t>(w, o.b));
  d = (d & ~w.active_lanes) | (value & w.active_lanes);
}
void run_predicate_not(Warp& w, const Op& o) {
  uint32_t &d = *register_lanes<uint32_t>(w, o.d), value = ~*register_lanes<uint32_t>(w, o.a);
  d = (d & ~w.active_lanes) | (value & w.active_lanes);
}

template <class F>
void translate_logic(CodeBuilder& b) {
  Type t = b.expect_type();
  if (t == Type::Pred) return emit_binary(b, t, run_predicate_op<F>);
  if (type_kind(t) != TypeKind::Bits || bits(t) < 16 || bits(t) > 64)
    b.throw_type_error(t, ".pred, .b16, .b32 or .b64");
  emit_binary(b, t, binary_handler<F>(t));
}
template <class F>
void translate_unary_logic(CodeBuilder& b) {
  Type t = b.expect_type();
  if (t == Type::Pred && std::is_same_v<F, std::bit_not<>>) return emit_unary(b, t, run_predicate_not);
  if (type_kind(t) != TypeKind::Bits || bits(t) < 16 || bits(t) > 64)
    b.throw_type_error(t);
  emit_unary(b, t, unary_handler<F>(t));
}

// The shift amount has 32 bits for every operand type, and may exceed the operand's width.
template <class T, bool kLeft>
void run_shift(Warp& w, const Op& o) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const T* a = register_lanes<T>(w, o.a);
  const uint32_t* n = register_lanes<uint32_t>(w, o.b);
  write_lanes<T>(w, o.d, [&](int i) {
    if constexpr (kLeft) return n[i] < kBits ? T(UnsignedOf<T>(a[i]) << (n[i] & (kBits - 1))) : T(0);
    else if constexpr (std::is_signed_v<T>) return T(a[i] >> (n[i] < kBits ? n[i] : kBits - 1));
    else return n[i] < kBits ? T(a[i] >> (n[i] & (kBits - 1))) : T(0);
  });
}
template <bool kLeft>
void translate_shift(CodeBuilder& b) {
  Type t = expect_integer_type(b);
  if (kLeft && type_kind(t) != TypeKind::Bits)
    b.throw_type_error(t, ".b16, .b32 or .b64");
  OpFunction run = run_with_register(t, [](auto x) -> OpFunction { return run_shift<decltype(x), kLeft>; });
  b.emit_value({.run = run}, t, {t, Type::U32});
}

template <bool kLeft, bool kWraps>
struct FunnelShift {
  uint32_t operator()(uint32_t low, uint32_t high, uint32_t n) const {
    n = kWraps ? n & 31 : n < 32 ? n : 32;
    uint64_t both = uint64_t(high) << 32 | low;
    return kLeft ? uint32_t((both << n) >> 32) : uint32_t(both >> n);
  }
};
void translate_funnel_shift(CodeBuilder& b) {
  int side = b.accept_any_modifier({"l", "r"}), mode = b.accept_any_modifier({"clamp", "wrap"});
  if (side < 0 || mode < 0) b.throw_error("no side or mode follows", ".l or .r, then .clamp or .wrap");
  Type t = b.expect_type();
  if (t != Type::B32) b.throw_type_error(t, ".b32");
  emit_ternary(b, t,
               side == 0 ? (mode ? apply_ternary<uint32_t, FunnelShift<true, true>>
                                 : apply_ternary<uint32_t, FunnelShift<true, false>>)
                         : (mode ? apply_ternary<uint32_t, FunnelShift<false, true>>
                                 : apply_ternary<uint32_t, FunnelShift<false, false>>));
}

// Implements popc, clz and bfind. The result has 32 bits for every operand type.
template <class T, int kWhat>
void count_bits(Warp& w, const Op& o) {
  using U = UnsignedOf<T>;
  const T* a = register_lanes<T>(w, o.a);
  write_lanes<uint32_t>(w, o.d, [&](int i) {
    if constexpr (kWhat == 0) return uint32_t(std::popcount(U(a[i])));
    if constexpr (kWhat == 1) return uint32_t(std::countl_zero(U(a[i])));
    U v = std::is_signed_v<T> && a[i] < T(0) ? U(~a[i]) : U(a[i]);
    return v == 0 ? UINT32_MAX : uint32_t(8 * sizeof(T) - 1 - size_t(std::countl_zero(v)));
  });
}
template <int kWhat>
void translate_count(CodeBuilder& b) {
  Type t = expect_integer_type(b);
  if (bits(t) == 16) b.throw_type_error(t);
  OpFunction run = run_with_register(t, [](auto x) -> OpFunction { return count_bits<decltype(x), kWhat>; });
  b.emit_value({.run = run}, Type::U32, {t});
}

template <class T>
T extract_bit_field(T a, uint32_t at, uint32_t n) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  using U = UnsignedOf<T>;
  at &= 255, n &= 255;
  bool sign = std::is_signed_v<T> && n > 0 && (U(a) >> std::min(at + n - 1, kBits - 1) & 1);
  U out = at < kBits ? U(a) >> at : 0;
  if (n < kBits) out &= (U(1) << n) - 1;
  uint32_t have = at < kBits ? std::min(n, kBits - at) : 0;
  if (sign && have < kBits) out |= U(-1) << have;
  return T(out);
}
template <class T>
void run_bit_extract(Warp& w, const Op& o) {
  const T* a = register_lanes<T>(w, o.a);
  const uint32_t *at = register_lanes<uint32_t>(w, o.b), *n = register_lanes<uint32_t>(w, o.c);
  write_lanes<T>(w, o.d, [&](int i) { return extract_bit_field(a[i], at[i], n[i]); });
}
void bfe(CodeBuilder& b) {
  Type t = expect_integer_type(b);
  if (bits(t) == 16) b.throw_type_error(t);
  OpFunction run = run_with_register(t, [](auto x) -> OpFunction { return run_bit_extract<decltype(x)>; });
  b.emit_value({.run = run}, t, {t, Type::U32, Type::U32});
}

template <class T>
void run_bit_insert(Warp& w, const Op& o) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  const uint32_t* more = w.operands + o.more_operands;
  const T *a = register_lanes<T>(w, o.a), *b = register_lanes<T>(w, o.b);
  const uint32_t *at = register_lanes<uint32_t>(w, more[0]), *n = register_lanes<uint32_t>(w, more[1]);
  write_lanes<T>(w, o.d, [&](int i) {
    uint32_t p = at[i] & 255, c = n[i] & 255;
    if (p >= kBits || c == 0) return b[i];
    T mask = T((c >= kBits ? T(-1) : T((T(1) << c) - 1)) << p);
    return T((b[i] & ~mask) | (T(a[i] << p) & mask));
  });
}
void bfi(CodeBuilder& b) {
  Type t = b.expect_type();
  if (t != Type::B32 && t != Type::B64)
    b.throw_type_error(t, ".b32 or .b64");
  b.refuse_more_modifiers();
  b.check_operand_count(5);
  Op op{.run = t == Type::B32 ? run_bit_insert<uint32_t> : run_bit_insert<uint64_t>,
        .a = b.source_register(1, t),
        .b = b.source_register(2, t)};
  uint32_t more[] = {b.source_register(3, Type::U32), b.source_register(4, Type::U32)};
  op.d = b.output_register(0, t);
  b.emit_op(op, {}, more);
}

// lop3 applies any function of three bits, given as an 8-entry truth table, to each bit position of a, b and c.
void run_lop3(Warp& w, const Op& o) {
  const uint32_t *a = register_lanes<uint32_t>(w, o.a), *b = register_lanes<uint32_t>(w, o.b),
                 *c = register_lanes<uint32_t>(w, o.c);
  uint32_t table = o.num_more_operands;
  write_lanes<uint32_t>(w, o.d, [&](int i) {
    uint32_t out = 0;
    for (uint32_t n = 0; n < 8; n++)
      out |=
          (table >> n & 1 ? UINT32_MAX : 0) & (n & 4 ? a[i] : ~a[i]) & (n & 2 ? b[i] : ~b[i]) & (n & 1 ? c[i] : ~c[i]);
    return out;
  });
}
void lop3(CodeBuilder& b) {
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  b.check_operand_count(5);
  if (t != Type::B32 || b.operand(4).kind != Operand::Integer || b.operand(4).bits > 255)
    b.throw_error("the truth table is not a number from 0 to 255");
  Op op{.run = run_lop3,
        .a = b.source_register(1, t),
        .b = b.source_register(2, t),
        .c = b.source_register(3, t),
        .num_more_operands = uint32_t(b.operand(4).bits)};
  op.d = b.output_register(0, t);
  b.emit_op(op);
}

template <int kMode>
struct PermuteBytes {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    uint64_t bytes = uint64_t(b) << 32 | a;
    uint32_t out = 0;
    for (uint32_t n = 0; n < 4; n++) {
      uint32_t s = c & 3, pick = c >> (4 * n) & 15;
      if (kMode == 1) pick = s + n;
      if (kMode == 2) pick = (s - n) & 7;
      if (kMode == 3) pick = s;
      if (kMode == 4) pick = n > s ? n : s;
      if (kMode == 5) pick = n < s ? n : s;
      if (kMode == 6) pick = (s & 1) * 2 + (n & 1);
      uint32_t byte = uint32_t(bytes >> (8 * (pick & 7))) & 255;
      if (kMode == 0 && pick & 8) byte = byte & 128 ? 255 : 0;
      out |= byte << (8 * n);
    }
    return out;
  }
};
void prmt(CodeBuilder& b) {
  Type t = b.expect_type();
  if (t != Type::B32) b.throw_type_error(t, ".b32");
  constexpr OpFunction kRuns[] = {apply_ternary<uint32_t, PermuteBytes<0>>, apply_ternary<uint32_t, PermuteBytes<1>>,
                                  apply_ternary<uint32_t, PermuteBytes<2>>, apply_ternary<uint32_t, PermuteBytes<3>>,
                                  apply_ternary<uint32_t, PermuteBytes<4>>, apply_ternary<uint32_t, PermuteBytes<5>>,
                                  apply_ternary<uint32_t, PermuteBytes<6>>};
  emit_ternary(b, t, kRuns[b.accept_any_modifier({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) + 1]);
}

constexpr OpcodeRow kRows[] = {
    {"and", translate_logic<std::bit_and<>>},
    {"or", translate_logic<std::bit_or<>>},
    {"xor", translate_logic<std::bit_xor<>>},
    {"not", translate_unary_logic<std::bit_not<>>},
    {"cnot", translate_unary_logic<Cnot>},
    {"brev", translate_unary_logic<ReverseBits>},
    {"shl", translate_shift<true>},
    {"shr", translate_shift<false>},
    {"shf", translate_funnel_shift},
    {"popc", translate_count<0>},
    {"clz", translate_count<1>},
    {"bfind", translate_count<2>},
    {"bfe", bfe},
    {"bfi", bfi},
    {"lop3", lop3},
    {"prmt", prmt},
};

}  // namespace

std::span<const OpcodeRow> bit_opcode_rows() { return kRows; }

}  // namespace tgc::ptx
