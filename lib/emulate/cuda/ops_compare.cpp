// Comparisons, tests of floats (testp), selections and mov.
#include "lib/emulate/cuda/builder.h"
#include "lib/emulate/cuda/lanes.h"
#include "lib/emulate/numbers.h"

namespace tgc::ptx {
namespace {

enum Compare : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Lo, Ls, Hi, Hs, Equ, Neu, Ltu, Leu, Gtu, Geu, Num, Nan };

template <int kCompare, class T>
bool compare(T a, T b) {
  if constexpr (kCompare == Eq) return a == b;
  if constexpr (kCompare == Ne) return a < b || a > b;
  if constexpr (kCompare == Lt) return a < b;
  if constexpr (kCompare == Le) return a <= b;
  if constexpr (kCompare == Gt) return a > b;
  if constexpr (kCompare == Ge) return a >= b;
  if constexpr (kCompare == Equ) return !(a < b || a > b);
  if constexpr (kCompare == Neu) return !(a == b);
  if constexpr (kCompare == Ltu) return !(a >= b);
  if constexpr (kCompare == Leu) return !(a > b);
  if constexpr (kCompare == Gtu) return !(a <= b);
  if constexpr (kCompare == Geu) return !(a < b);
  if constexpr (kCompare == Num) return a == a && b == b;
  if constexpr (kCompare == Nan) return a != a || b != b;
  return false;
}

struct FlushingDecoder {
  using Bits = float;
  static float decode_float(float x) { return flush_subnormal(x); }
};

// The destination of a comparison: a predicate, or a register in which true is 1.0 or all bits set.
enum class BoolForm : int64_t { Pred, F32, F16, B32 };
// Writes the result of a comparison, one bit of `mask` per lane, to register d. If Op::num_more_operands is 1, 2 or 3,
// first combines `mask` with predicate c by AND, OR or XOR. Op::immediate: bit 0 negates c; the other bits are a
// BoolForm.
void write_compare_result(Warp& w, const Op& o, uint32_t mask) {
  uint32_t c = *register_lanes<uint32_t>(w, o.c);
  if (o.immediate & 1) c = ~c;
  mask = o.num_more_operands == 1   ? mask & c
         : o.num_more_operands == 2 ? mask | c
         : o.num_more_operands == 3 ? mask ^ c
                                    : mask;
  switch (BoolForm(o.immediate >> 1)) {
    case BoolForm::Pred: {
      uint32_t& d = *register_lanes<uint32_t>(w, o.d);
      d = (d & ~w.active_lanes) | (mask & w.active_lanes);
      break;
    }
    case BoolForm::F32: return write_lanes<float>(w, o.d, [&](int i) { return mask >> i & 1 ? 1.0f : 0.0f; });
    case BoolForm::F16:
      return write_lanes<uint16_t>(w, o.d, [&](int i) { return uint16_t(mask >> i & 1 ? 0x3c00 : 0); });
    case BoolForm::B32: return write_lanes<uint32_t>(w, o.d, [&](int i) { return mask >> i & 1 ? ~0u : 0u; });
  }
}
template <class As, int kCompare>
void run_compare(Warp& w, const Op& o) {
  using S = typename As::Bits;
  const S *a = register_lanes<S>(w, o.a), *b = register_lanes<S>(w, o.b);
  uint32_t mask = 0;
  TGC_LANES mask |= uint32_t(compare<kCompare>(As::decode_float(a[i]), As::decode_float(b[i]))) << i;
  write_compare_result(w, o, mask);
}
// In "setp p|q", q is the negation of the comparison's result, which p receives.
void negate_predicate(Warp& w, const Op& o) {
  uint32_t &d = *register_lanes<uint32_t>(w, o.d), value = ~*register_lanes<uint32_t>(w, o.a);
  d = (d & ~w.active_lanes) | (value & w.active_lanes);
}

template <class As, size_t... kN>
OpFunction compare_handler_at(size_t n, std::index_sequence<kN...>) {
  static constexpr OpFunction kRuns[] = {run_compare<As, int(kN)>...};
  return kRuns[n];
}
template <class As>
OpFunction integer_compare_handler(int c) {
  return compare_handler_at<As>(size_t(c), std::make_index_sequence<Ge + 1>());
}
template <class As>
OpFunction float_compare_handler(int c) {
  return compare_handler_at<As>(size_t(c), std::make_index_sequence<Nan + 1>());
}

OpFunction find_compare_handler(Type t, int c, bool ftz) {
  bool is_float = type_kind(t) == TypeKind::Float || type_kind(t) == TypeKind::BFloat;
  if (!is_float && c >= Equ) return nullptr;
  if (is_float && c >= Lo && c <= Hs) return nullptr;
  if (type_kind(t) == TypeKind::Bits && c != Eq && c != Ne) return nullptr;
  if (ftz && t != Type::F32) return nullptr;
  if (c >= Lo && c <= Hs) c = c == Lo ? Lt : c == Ls ? Le : c == Hi ? Gt : Ge;
  if (is_integer(t) && bits(t) > 8)
    return run_with_register(t, [&](auto x) { return integer_compare_handler<NativeDecoder<decltype(x)>>(c); });
  switch (t) {
    case Type::F32:
      return ftz ? float_compare_handler<FlushingDecoder>(c) : float_compare_handler<NativeDecoder<float>>(c);
    case Type::F64: return float_compare_handler<NativeDecoder<double>>(c);
    case Type::F16: return float_compare_handler<HalfDecoder>(c);
    case Type::BF16: return float_compare_handler<BfloatDecoder>(c);
    default: return nullptr;
  }
}

// In "setp p|q" of f16x2 or bf16x2, p is the result for the lower halves, q for the upper halves.
template <class As, int kCompare>
void run_pair_compare(Warp& w, const Op& o) {
  const uint32_t *a = register_lanes<uint32_t>(w, o.a), *b = register_lanes<uint32_t>(w, o.b);
  uint32_t low = 0, high = 0;
  for (int i = 0; i < kNumLanes; i++) {
    low |= uint32_t(compare<kCompare>(As::decode_float(uint16_t(a[i])), As::decode_float(uint16_t(b[i])))) << i;
    high |= uint32_t(compare<kCompare>(As::decode_float(uint16_t(a[i] >> 16)), As::decode_float(uint16_t(b[i] >> 16))))
            << i;
  }
  write_predicate(w, o.d, [&](int i) { return low >> i & 1; });
  write_predicate(w, w.operands[o.more_operands], [&](int i) { return high >> i & 1; });
}
template <class As, size_t... kN>
OpFunction pair_compare_handler(int c, std::index_sequence<kN...>) {
  static constexpr OpFunction kRuns[] = {run_pair_compare<As, int(kN)>...};
  return c >= Lo && c <= Hs ? nullptr : kRuns[c];
}
OpFunction pair_compare_handler(Type t, int c) {
  constexpr auto kAll = std::make_index_sequence<Nan + 1>();
  return t == Type::F16x2    ? pair_compare_handler<HalfDecoder>(c, kAll)
         : t == Type::BF16x2 ? pair_compare_handler<BfloatDecoder>(c, kAll)
                             : nullptr;
}

struct CompareModifiers {
  int compare;
  uint32_t combine;
  bool ftz;
};
CompareModifiers parse_compare_modifiers(CodeBuilder& b) {
  int c = b.accept_any_modifier({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu",
                           "gtu", "geu", "num", "nan"});
  if (c < 0) b.throw_error("no comparison follows", ".eq, .lt, ...");
  uint32_t combine = uint32_t(b.accept_any_modifier({"and", "or", "xor"}) + 1);
  return {c, combine, b.accept_modifier("ftz")};
}
void add_combined_predicate(CodeBuilder& b, Op& op, const CompareModifiers& test) {
  b.check_operand_count(test.combine ? 4 : 3);
  op.num_more_operands = test.combine;
  if (!test.combine) return;
  op.c = b.source_register(3, Type::Pred);
  op.immediate = b.operand(3).is_negated;
}

void setp(CodeBuilder& b) {
  CompareModifiers test = parse_compare_modifiers(b);
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  if (info_of_type(t).count == 2) {
    b.check_operand_count(3);
    Op op{.run = test.ftz || test.combine ? nullptr : pair_compare_handler(t, test.compare)};
    if (!op.run || b.operand(0).second_register < 0)
      b.throw_error("the comparison of pairs is not supported", "p|q, a, b");
    op.a = b.source_register(1, t), op.b = b.source_register(2, t);
    op.d = b.output_register(0, Type::Pred);
    uint32_t upper[] = {
        b.output_register(Operand{.kind = Operand::Reg, .reg = b.operand(0).second_register}, Type::Pred)};
    return b.emit_op(op, upper, {});
  }
  OpFunction run = find_compare_handler(t, test.compare, test.ftz);
  if (!run) b.throw_error("the comparison does not go with its type or modifiers");
  Op op{.run = run};
  add_combined_predicate(b, op, test);
  op.a = b.source_register(1, t), op.b = b.source_register(2, t);
  int32_t second = b.operand(0).second_register;
  if (second < 0) {
    op.d = b.output_register(0, Type::Pred);
    return b.emit_op(op);
  }
  if (test.combine) b.throw_error("two predicates and a third are not supported");
  op.d = b.temporary_register(1);
  b.emit_op(op);
  Operand q{.kind = Operand::Reg, .reg = second};
  b.emit_op({.run = negate_predicate, .d = b.output_register(q, Type::Pred), .a = op.d});
  uint32_t both = b.temporary_register(1);
  b.emit_op({.run = negate_predicate, .d = both, .a = op.d});
  b.emit_op({.run = negate_predicate, .d = b.output_register(0, Type::Pred), .a = both});
}

void set(CodeBuilder& b) {
  CompareModifiers test = parse_compare_modifiers(b);
  Type d = b.expect_type(), t = b.expect_type();
  b.refuse_more_modifiers();
  BoolForm result = d == Type::F32                     ? BoolForm::F32
                  : d == Type::F16                   ? BoolForm::F16
                  : bits(d) == 32 && is_integer(d) ? BoolForm::B32
                                                     : BoolForm::Pred;
  OpFunction run = result == BoolForm::Pred ? nullptr : find_compare_handler(t, test.compare, test.ftz);
  if (!run) b.throw_error("the comparison does not go with its types or modifiers");
  Op op{.run = run};
  add_combined_predicate(b, op, test);
  op.immediate |= int64_t(result) << 1;
  op.a = b.source_register(1, t), op.b = b.source_register(2, t);
  op.d = b.output_register(0, d);
  b.emit_op(op);
}

template <class T>
void run_select(Warp& w, const Op& o) {
  const T *a = register_lanes<T>(w, o.a), *b = register_lanes<T>(w, o.b);
  uint32_t p = *register_lanes<uint32_t>(w, o.c);
  write_lanes<T>(w, o.d, [&](int i) { return (p >> i & 1) ? a[i] : b[i]; });
}
void selp(CodeBuilder& b) {
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  b.check_operand_count(4);
  OpFunction run = run_with_unsigned(bits(t), [](auto x) -> OpFunction { return run_select<decltype(x)>; });
  if (!run) b.throw_type_error(t);
  Op op{.run = run, .a = b.source_register(1, t), .b = b.source_register(2, t), .c = b.source_register(3, Type::Pred)};
  if (b.operand(3).is_negated) std::swap(op.a, op.b);
  op.d = b.output_register(0, t);
  b.emit_op(op);
}

template <class T, class C>
void run_select_by_sign(Warp& w, const Op& o) {
  const T *a = register_lanes<T>(w, o.a), *b = register_lanes<T>(w, o.b);
  const C* c = register_lanes<C>(w, o.c);
  write_lanes<T>(w, o.d, [&](int i) { return c[i] >= 0 ? a[i] : b[i]; });
}
void slct(CodeBuilder& b) {
  Type t = b.expect_type(), c = b.expect_type();
  bool of_float = c == Type::F32;
  OpFunction run = run_with_unsigned(bits(t), [&](auto x) -> OpFunction {
    return of_float ? run_select_by_sign<decltype(x), float> : run_select_by_sign<decltype(x), int32_t>;
  });
  if (!run || (!of_float && c != Type::S32)) b.throw_error("its types do not go together");
  b.emit_value({.run = run}, t, {t, t, c});
}

template <class T, int kTest>
void run_float_test(Warp& w, const Op& o) {
  const T* a = register_lanes<T>(w, o.a);
  write_predicate(w, o.d, [&](int i) {
    switch (kTest) {
      case 0: return bool(std::isfinite(a[i]));
      case 1: return bool(std::isinf(a[i]));
      case 2: return !std::isnan(a[i]);
      case 3: return bool(std::isnan(a[i]));
      case 4: return bool(std::isnormal(a[i]));
      default: return a[i] != 0 && std::isfinite(a[i]) && !std::isnormal(a[i]);
    }
  });
}
void testp(CodeBuilder& b) {
  int test = b.accept_any_modifier({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  if (test < 0) b.throw_error("no test follows", ".finite, .infinite, .number, .notanumber, .normal or .subnormal");
  Type t = b.expect_type();
  static constexpr OpFunction kSingle[] = {run_float_test<float, 0>, run_float_test<float, 1>, run_float_test<float, 2>,
                                    run_float_test<float, 3>, run_float_test<float, 4>, run_float_test<float, 5>};
  static constexpr OpFunction kDouble[] = {run_float_test<double, 0>, run_float_test<double, 1>,
                                           run_float_test<double, 2>, run_float_test<double, 3>,
                                           run_float_test<double, 4>, run_float_test<double, 5>};
  if (t != Type::F32 && t != Type::F64)
    b.throw_type_error(t, ".f32 or .f64");
  b.emit_value({.run = (t == Type::F32 ? kSingle : kDouble)[test]}, Type::Pred, {t});
}

template <class T>
void run_register_copy(Warp& w, const Op& o) {
  const T* a = register_lanes<T>(w, o.a);
  write_lanes<T>(w, o.d, [&](int i) { return a[i]; });
}
void run_predicate_copy(Warp& w, const Op& o) {
  uint32_t &d = *register_lanes<uint32_t>(w, o.d), a = *register_lanes<uint32_t>(w, o.a);
  d = (d & ~w.active_lanes) | (a & w.active_lanes);
}
template <class Whole, class Part>
void pack(Warp& w, const Op& o) {
  constexpr uint32_t kParts = sizeof(Whole) / sizeof(Part);
  const Part* parts[kParts];
  for (uint32_t n = 0; n < kParts; n++) parts[n] = register_lanes<Part>(w, w.operands[o.more_operands + n]);
  write_lanes<Whole>(w, o.d, [&](int i) {
    Whole out = 0;
    for (uint32_t n = 0; n < kParts; n++) out |= Whole(parts[n][i]) << (8 * sizeof(Part) * n);
    return out;
  });
}
template <class Whole, class Part>
void unpack(Warp& w, const Op& o) {
  Whole a[kNumLanes];
  std::memcpy(a, register_lanes<Whole>(w, o.a), sizeof a);
  for (uint32_t n = 0; n < sizeof(Whole) / sizeof(Part); n++)
    write_lanes<Part>(w, w.operands[o.more_operands + n], [&](int i) { return Part(a[i] >> (8 * sizeof(Part) * n)); });
}

void pack_bytes(Warp& w, const Op& o) {
  const uint16_t *low = register_lanes<uint16_t>(w, w.operands[o.more_operands]),
                 *high = register_lanes<uint16_t>(w, w.operands[o.more_operands + 1]);
  write_lanes<uint16_t>(w, o.d, [&](int i) { return uint16_t((low[i] & 255) | high[i] << 8); });
}
void unpack_bytes(Warp& w, const Op& o) {
  uint16_t a[kNumLanes];
  std::memcpy(a, register_lanes<uint16_t>(w, o.a), sizeof a);
  for (uint32_t n = 0; n < 2; n++)
    write_lanes<uint16_t>(w, w.operands[o.more_operands + n], [&](int i) { return uint16_t(a[i] >> (8 * n) & 255); });
}

struct PackedLayout {
  unsigned packed_bits, count;
  OpFunction pack, unpack;
  Type part_type;
};
constexpr PackedLayout kPackedLayouts[] = {
    {16, 2, pack_bytes, unpack_bytes, Type::B8},
    {32, 2, pack<uint32_t, uint16_t>, unpack<uint32_t, uint16_t>, Type::B16},
    {64, 2, pack<uint64_t, uint32_t>, unpack<uint64_t, uint32_t>, Type::B32},
    {64, 4, pack<uint64_t, uint16_t>, unpack<uint64_t, uint16_t>, Type::B16},
    {128, 2, pack<unsigned __int128, uint64_t>, unpack<unsigned __int128, uint64_t>, Type::B64},
    {128, 4, pack<unsigned __int128, uint32_t>, unpack<unsigned __int128, uint32_t>, Type::B32},
};

void translate_list_mov(CodeBuilder& b, Type t, bool packs) {
  const Operand& list = b.operand(packs ? 1 : 0);
  for (const PackedLayout& p : kPackedLayouts) {
    if (p.packed_bits != bits(t) || p.count != list.parts.size()) continue;
    if (packs) {
      std::vector<uint32_t> parts = b.source_registers(list, p.count, p.part_type);
      uint32_t d = b.output_register(0, t);
      return b.emit_op({.run = p.pack, .d = d}, {}, parts);
    }
    uint32_t a = b.source_register(1, t);
    return b.emit_op({.run = p.unpack, .a = a}, b.output_registers(list, p.count, p.part_type), {});
  }
  b.throw_error("a list of " + std::to_string(list.parts.size()) + " does not make a ." + std::string(ptx_name(t)));
}

void mov(CodeBuilder& b) {
  Type t = b.expect_type();
  b.refuse_more_modifiers();
  b.check_operand_count(2);
  if (b.operand(1).kind == Operand::List) return translate_list_mov(b, t, true);
  if (b.operand(0).kind == Operand::List) return translate_list_mov(b, t, false);
  if (t == Type::Pred) {
    if (b.operand(1).is_negated) b.throw_error("a negated predicate is read");
    uint32_t a = b.source_register(1, t);
    return b.emit_op({.run = run_predicate_copy, .d = b.output_register(0, t), .a = a});
  }
  OpFunction run =
      bits(t) == 128 ? run_register_copy<unsigned __int128>
                     : run_with_unsigned(bits(t), [](auto x) -> OpFunction { return run_register_copy<decltype(x)>; });
  if (!run) b.throw_type_error(t);
  // an integer constant of a float type gives the bits of the float
  Type as = b.operand(1).kind == Operand::Integer ? (bits(t) == 16   ? Type::B16
                                                     : bits(t) == 32 ? Type::B32
                                                                     : Type::B64)
                                                  : t;
  uint32_t a = b.source_register(1, as);
  b.emit_op({.run = run, .d = b.output_register(0, t), .a = a});
}

constexpr OpcodeRow kRows[] = {{"setp", setp}, {"set", set},     {"selp", selp},
                               {"slct", slct}, {"testp", testp}, {"mov", mov}};

}  // namespace

std::span<const OpcodeRow> compare_opcode_rows() { return kRows; }

}  // namespace tgc::ptx
