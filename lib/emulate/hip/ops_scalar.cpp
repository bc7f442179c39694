#include <bit>

#include "lib/emulate/hip/scalar_rows.h"

namespace tgc::hip {
namespace {

template <class T>
T set_scc_if_nonzero(Wave& w, T value) {
  w.scalar_registers[kScc] = value != 0;
  return value;
}
template <class T>
T set_scc(Wave& w, T value, bool scc) {
  w.scalar_registers[kScc] = scc;
  return value;
}

constexpr auto add = [](Wave& w, u32 a, u32 b) { return set_scc(w, a + b, a + b < a); };
constexpr auto addc = [](Wave& w, u32 a, u32 b) {
  u64 sum = u64(a) + b + w.scalar_registers[kScc];
  return set_scc(w, u32(sum), sum >> 32);
};
constexpr auto sub = [](Wave& w, u32 a, u32 b) { return set_scc(w, a - b, b > a); };
constexpr auto subb = [](Wave& w, u32 a, u32 b) {
  u64 take = u64(b) + w.scalar_registers[kScc];
  return set_scc(w, u32(a - take), take > a);
};
constexpr auto add_i = [](Wave& w, i32 a, i32 b) {
  i32 sum;
  bool overflows = __builtin_add_overflow(a, b, &sum);
  return set_scc(w, sum, overflows);
};
constexpr auto sub_i = [](Wave& w, i32 a, i32 b) {
  i32 difference;
  bool overflows = __builtin_sub_overflow(a, b, &difference);
  return set_scc(w, difference, overflows);
};

template <class T>
constexpr auto bit_field = [](Wave& w, T a, u32 field) {
  u32 bits = sizeof(T) * 8, offset = field & (bits - 1), width = std::min(field >> 16 & 0x7f, bits);
  if (width == 0) return set_scc_if_nonzero(w, T(0));
  T above = T(std::make_unsigned_t<T>(a) << (offset + width < bits ? bits - offset - width : 0));
  return set_scc_if_nonzero(w, T(above >> (offset + width < bits ? bits - width : offset)));
};

// Returns the old EXEC and sets EXEC to F(operand, old EXEC), and SCC to 1 if the new EXEC is not 0.
template <class T, auto F>
constexpr auto save_exec = [](Wave& w, T a) {
  SourceOperand exec{.register_index = kExec};
  T before = read_scalar<T>(w, exec);
  write_scalar(w, kExec, set_scc_if_nonzero(w, T(F(a, before))));
  return before;
};
constexpr auto kAnd = [](auto a, auto b) { return a & b; };
constexpr auto kOr = [](auto a, auto b) { return a | b; };
constexpr auto kXor = [](auto a, auto b) { return a ^ b; };
constexpr auto kAndNot1 = [](auto a, auto b) { return a & ~b; };  // complements the second operand
constexpr auto kAndNot0 = [](auto a, auto b) { return ~a & b; };
constexpr auto kOrNot1 = [](auto a, auto b) { return a | ~b; };
constexpr auto kOrNot0 = [](auto a, auto b) { return ~a | b; };
constexpr auto kNand = [](auto a, auto b) { return ~(a & b); };
constexpr auto kNor = [](auto a, auto b) { return ~(a | b); };
constexpr auto kXnor = [](auto a, auto b) { return ~(a ^ b); };

// Adds a logical operation and its EXEC-saving form (saveexec), each with 32 and 64 bits.
template <auto F>
void add_scalar_logic_rows(OpcodeTable& t, const std::string& name, const std::string& other, const std::string& save,
                           const std::string& other_save) {
  auto names = [&](const std::string& n, const char* suffix) { return n.empty() ? n : n + suffix + " "; };
  add_row(t, names(name, "_b32") + names(other, "_b32"),
          scalar_row<[](Wave& w, u32 a, u32 b) { return set_scc_if_nonzero(w, u32(F(a, b))); }>());
  add_row(t, names(name, "_b64") + names(other, "_b64"),
          scalar_row<[](Wave& w, u64 a, u64 b) { return set_scc_if_nonzero(w, u64(F(a, b))); }>());
  add_row(t, names(save, "_saveexec_b32") + names(other_save, "_saveexec_b32"), scalar_row<save_exec<u32, F>>());
  add_row(t, names(save, "_saveexec_b64") + names(other_save, "_saveexec_b64"), scalar_row<save_exec<u64, F>>());
}

// Builds s_addk_i32 and the like: operand 0 is destination and source, operand 1 a 16-bit immediate, printed unsigned.
void build_sopk(CodeBuilder& b) {
  b.allow_modifiers({});
  Op op = b.make_op(b.row->run_op, false);
  bool compares = b.row->to == Type::Scc;
  const Operand &to = b.operand(0), &value = b.operand(1);
  if (value.kind != Operand::Integer) b.throw_error("the second operand is no number");
  op.a = b.source_operand(to, Type::U32);
  bool is_unsigned = b.row->from[1] == Type::U32;
  op.b = b.constant_operand(is_unsigned ? u32(uint16_t(value.integer)) : u32(i32(int16_t(value.integer))), 1);
  if (!compares) op.to = b.scalar_register(to, 1);
  if (b.name == "s_movk_i32") op.a = op.b;
  b.emit_op(op);
}
OpcodeRow sopk_row(OpcodeRow row) {
  row.build_ops = build_sopk;
  return row;
}

template <class T, auto F>
constexpr auto compare = [](Wave&, T a, T b) -> bool { return F(a, b); };
constexpr auto kEq = [](auto a, auto b) { return a == b; };
constexpr auto kNe = [](auto a, auto b) { return a != b; };
constexpr auto kGt = [](auto a, auto b) { return a > b; };
constexpr auto kGe = [](auto a, auto b) { return a >= b; };
constexpr auto kLt = [](auto a, auto b) { return a < b; };
constexpr auto kLe = [](auto a, auto b) { return a <= b; };

template <auto F>
void add_scalar_compare_rows(OpcodeTable& t, const std::string& condition) {
  add_row(t, "s_cmp_" + condition + "_i32", scalar_row<compare<i32, F>>());
  add_row(t, "s_cmp_" + condition + "_u32", scalar_row<compare<u32, F>>());
  add_row(t, "s_cmp_" + condition + "_u64", scalar_row<compare<u64, F>>());
  add_row(t, "s_cmpk_" + condition + "_i32", sopk_row(scalar_row<compare<i32, F>>()));
  add_row(t, "s_cmpk_" + condition + "_u32", sopk_row(scalar_row<compare<u32, F>>()));
}
template <class T>
u32 leading_zeros(T a) {
  return a == 0 ? ~0u : u32(std::countl_zero(a));
}
template <class T>
u32 trailing_zeros(T a) {
  return a == 0 ? ~0u : u32(std::countr_zero(a));
}
template <class T>
T reverse_bits(T a) {
  T out = 0;
  for (size_t i = 0; i < sizeof(T) * 8; i++) out |= (a >> i & 1) << (sizeof(T) * 8 - 1 - i);
  return out;
}
u32 sign_bits(i32 a) { return a == 0 || a == -1 ? ~0u : u32(std::countl_zero(u32(a < 0 ? ~a : a))); }

void add_scalar_arithmetic_rows(OpcodeTable& t) {
  add_row(t, "s_add_u32 s_add_co_u32", scalar_row<add>());
  add_row(t, "s_addc_u32 s_add_co_ci_u32", scalar_row<addc>());
  add_row(t, "s_sub_u32 s_sub_co_u32", scalar_row<sub>());
  add_row(t, "s_subb_u32 s_sub_co_ci_u32", scalar_row<subb>());
  add_row(t, "s_add_i32 s_add_co_i32", scalar_row<add_i>());
  add_row(t, "s_sub_i32 s_sub_co_i32", scalar_row<sub_i>());
  add_row(t, "s_add_nc_u64 s_add_u64", scalar_row<[](Wave&, u64 a, u64 b) { return a + b; }>());
  add_row(t, "s_sub_nc_u64 s_sub_u64", scalar_row<[](Wave&, u64 a, u64 b) { return a - b; }>());
  add_row(t, "s_mul_i32", scalar_row<[](Wave&, u32 a, u32 b) { return a * b; }>());
  add_row(t, "s_mul_u64", scalar_row<[](Wave&, u64 a, u64 b) { return a * b; }>());
  add_row(t, "s_mul_hi_u32", scalar_row<[](Wave&, u32 a, u32 b) { return (u32(u64(a) * b >> 32)); }>());
  add_row(t, "s_mul_hi_i32", scalar_row<[](Wave&, i32 a, i32 b) { return (i32(i64(a) * b >> 32)); }>());
  add_row(t, "s_min_i32", scalar_row<[](Wave& w, i32 a, i32 b) { return set_scc(w, a < b ? a : b, a < b); }>());
  add_row(t, "s_min_u32", scalar_row<[](Wave& w, u32 a, u32 b) { return set_scc(w, a < b ? a : b, a < b); }>());
  add_row(t, "s_max_i32", scalar_row<[](Wave& w, i32 a, i32 b) { return (set_scc(w, a > b ? a : b, a > b)); }>());
  add_row(t, "s_max_u32", scalar_row<[](Wave& w, u32 a, u32 b) { return (set_scc(w, a > b ? a : b, a > b)); }>());
  add_row(t, "s_abs_i32",
          scalar_row<[](Wave& w, i32 a) { return set_scc_if_nonzero(w, a < 0 ? i32(0u - u32(a)) : a); }>());
  add_row(t, "s_absdiff_i32", scalar_row<[](Wave& w, i32 a, i32 b) {
            return set_scc_if_nonzero(w, a > b ? u32(a) - u32(b) : u32(b) - u32(a));
          }>());
  add_row(t, "s_movk_i32", sopk_row(scalar_row<[](Wave&, i32 a, i32) { return a; }>()));
  add_row(t, "s_addk_i32 s_addk_co_i32", sopk_row(scalar_row<add_i>()));
  add_row(t, "s_mulk_i32", sopk_row(scalar_row<[](Wave&, i32 a, i32 b) { return i32(u32(a) * u32(b)); }>()));
  add_row(t, "s_cmovk_i32",
          sopk_row(scalar_row<[](Wave& w, i32 a, i32 b) { return w.scalar_registers[kScc] ? b : a; }>()));
}

template <u32 kShift>
constexpr auto shift_add = [](Wave& w, u32 a, u32 b) {
  u64 sum = (u64(a) << kShift) + b;
  return set_scc(w, u32(sum), sum >> 32);
};

void add_scalar_shift_rows(OpcodeTable& t) {
  add_row(t, "s_lshl_b32", scalar_row<[](Wave& w, u32 a, u32 b) { return set_scc_if_nonzero(w, a << (b & 31)); }>());
  add_row(t, "s_lshr_b32", scalar_row<[](Wave& w, u32 a, u32 b) { return (set_scc_if_nonzero(w, a >> (b & 31))); }>());
  add_row(t, "s_ashr_i32", scalar_row<[](Wave& w, i32 a, u32 b) { return (set_scc_if_nonzero(w, a >> (b & 31))); }>());
  add_row(t, "s_lshl_b64", scalar_row<[](Wave& w, u64 a, u32 b) { return set_scc_if_nonzero(w, a << (b & 63)); }>());
  add_row(t, "s_lshr_b64", scalar_row<[](Wave& w, u64 a, u32 b) { return (set_scc_if_nonzero(w, a >> (b & 63))); }>());
  add_row(t, "s_ashr_i64", scalar_row<[](Wave& w, i64 a, u32 b) { return (set_scc_if_nonzero(w, a >> (b & 63))); }>());
  add_row(t, "s_lshl1_add_u32", scalar_row<shift_add<1>>());
  add_row(t, "s_lshl2_add_u32", scalar_row<shift_add<2>>());
  add_row(t, "s_lshl3_add_u32", scalar_row<shift_add<3>>());
  add_row(t, "s_lshl4_add_u32", scalar_row<shift_add<4>>());
  add_row(t, "s_bfe_u32", scalar_row<bit_field<u32>>());
  add_row(t, "s_bfe_i32", scalar_row<bit_field<i32>>());
  add_row(t, "s_bfe_u64", scalar_row<bit_field<u64>>());
  add_row(t, "s_bfe_i64", scalar_row<bit_field<i64>>());
  add_row(t, "s_bfm_b32", scalar_row<[](Wave&, u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>());
  add_row(t, "s_bfm_b64", scalar_row<[](Wave&, u32 a, u32 b) { return ((u64(1) << (a & 63)) - 1) << (b & 63); }>());
}

// Adds instructions whose first operand is the old value of the destination.
void add_read_modify_write_rows(OpcodeTable& t) {
  add_row(t, "s_cmov_b32",
          read_modify_write_row<[](Wave& w, u32 old, u32 a) { return w.scalar_registers[kScc] ? a : old; }>());
  add_row(t, "s_cmov_b64",
          read_modify_write_row<[](Wave& w, u64 old, u64 a) { return w.scalar_registers[kScc] ? a : old; }>());
  add_row(t, "s_bitset0_b32", read_modify_write_row<[](Wave&, u32 old, u32 a) { return old & ~(1u << (a & 31)); }>());
  add_row(t, "s_bitset1_b32", read_modify_write_row<[](Wave&, u32 old, u32 a) { return old | 1u << (a & 31); }>());
}

void add_scalar_bit_rows(OpcodeTable& t) {
  add_row(t, "s_mov_b32", scalar_row<[](Wave&, u32 a) { return a; }>());
  add_row(t, "s_mov_b64", scalar_row<[](Wave&, u64 a) { return a; }>());
  add_row(t, "s_not_b32", scalar_row<[](Wave& w, u32 a) { return set_scc_if_nonzero(w, ~a); }>());
  add_row(t, "s_not_b64", scalar_row<[](Wave& w, u64 a) { return set_scc_if_nonzero(w, ~a); }>());
  add_row(t, "s_brev_b32", scalar_row<[](Wave&, u32 a) { return reverse_bits(a); }>());
  add_row(t, "s_brev_b64", scalar_row<[](Wave&, u64 a) { return reverse_bits(a); }>());
  add_row(t, "s_bcnt1_i32_b32",
          scalar_row<[](Wave& w, u32 a) { return set_scc_if_nonzero(w, u32(std::popcount(a))); }>());
  add_row(t, "s_bcnt1_i32_b64",
          scalar_row<[](Wave& w, u64 a) { return set_scc_if_nonzero(w, u32(std::popcount(a))); }>());
  add_row(t, "s_bcnt0_i32_b32",
          scalar_row<[](Wave& w, u32 a) { return set_scc_if_nonzero(w, u32(std::popcount(~a))); }>());
  add_row(t, "s_clz_i32_u32 s_flbit_i32_b32", scalar_row<[](Wave&, u32 a) { return leading_zeros(a); }>());
  add_row(t, "s_clz_i32_u64 s_flbit_i32_b64", scalar_row<[](Wave&, u64 a) { return leading_zeros(a); }>());
  add_row(t, "s_ctz_i32_b32 s_ff1_i32_b32", scalar_row<[](Wave&, u32 a) { return trailing_zeros(a); }>());
  add_row(t, "s_ctz_i32_b64 s_ff1_i32_b64", scalar_row<[](Wave&, u64 a) { return trailing_zeros(a); }>());
  add_row(t, "s_cls_i32 s_flbit_i32", scalar_row<[](Wave&, i32 a) { return sign_bits(a); }>());
  add_row(t, "s_sext_i32_i8", scalar_row<[](Wave&, u32 a) { return i32(int8_t(a)); }>());
  add_row(t, "s_sext_i32_i16", scalar_row<[](Wave&, u32 a) { return i32(int16_t(a)); }>());
  add_row(t, "s_bitcmp0_b32", scalar_row<[](Wave&, u32 a, u32 b) -> bool { return ((a >> (b & 31) & 1) == 0); }>());
  add_row(t, "s_bitcmp1_b32", scalar_row<[](Wave&, u32 a, u32 b) -> bool { return (a >> (b & 31) & 1); }>());
  add_row(t, "s_bitcmp0_b64", scalar_row<[](Wave&, u64 a, u32 b) -> bool { return ((a >> (b & 63) & 1) == 0); }>());
  add_row(t, "s_bitcmp1_b64", scalar_row<[](Wave&, u64 a, u32 b) -> bool { return (a >> (b & 63) & 1); }>());
  add_row(t, "s_cselect_b32", scalar_row<[](Wave& w, u32 a, u32 b) { return w.scalar_registers[kScc] ? a : b; }>());
  add_row(t, "s_cselect_b64", scalar_row<[](Wave& w, u64 a, u64 b) { return w.scalar_registers[kScc] ? a : b; }>());
  add_row(t, "s_pack_ll_b32_b16", scalar_row<[](Wave&, u32 a, u32 b) { return (a & 0xffff) | b << 16; }>());
  add_row(t, "s_pack_lh_b32_b16", scalar_row<[](Wave&, u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }>());
  add_row(t, "s_pack_hl_b32_b16", scalar_row<[](Wave&, u32 a, u32 b) { return (a >> 16 | b << 16); }>());
  add_row(t, "s_pack_hh_b32_b16", scalar_row<[](Wave&, u32 a, u32 b) { return (a >> 16 | (b & 0xffff0000)); }>());
}

}  // namespace

void add_scalar_rows(OpcodeTable& t) {
  add_scalar_arithmetic_rows(t), add_scalar_shift_rows(t), add_scalar_bit_rows(t), add_read_modify_write_rows(t);
  add_scalar_logic_rows<kAnd>(t, "s_and", "", "s_and", "");
  add_scalar_logic_rows<kOr>(t, "s_or", "", "s_or", "");
  add_scalar_logic_rows<kXor>(t, "s_xor", "", "s_xor", "");
  // the second operand of the saveexec forms is EXEC: and_not1_saveexec computes operand & ~EXEC
  add_scalar_logic_rows<kAndNot1>(t, "s_and_not1", "s_andn2", "s_and_not1", "s_andn2");
  add_scalar_logic_rows<kOrNot1>(t, "s_or_not1", "s_orn2", "s_or_not1", "s_orn2");
  add_scalar_logic_rows<kAndNot0>(t, "", "", "s_and_not0", "s_andn1");
  add_scalar_logic_rows<kOrNot0>(t, "", "", "s_or_not0", "s_orn1");
  add_scalar_logic_rows<kNand>(t, "s_nand", "", "s_nand", "");
  add_scalar_logic_rows<kNor>(t, "s_nor", "", "s_nor", "");
  add_scalar_logic_rows<kXnor>(t, "s_xnor", "", "s_xnor", "");
  add_scalar_compare_rows<kEq>(t, "eq"), add_scalar_compare_rows<kNe>(t, "lg");
  add_scalar_compare_rows<kGt>(t, "gt"), add_scalar_compare_rows<kGe>(t, "ge");
  add_scalar_compare_rows<kLt>(t, "lt"), add_scalar_compare_rows<kLe>(t, "le");
}

}  // namespace tgc::hip
