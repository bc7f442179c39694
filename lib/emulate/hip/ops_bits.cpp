#include <bit>

#include "lib/emulate/hip/lanes.h"

namespace tgc::hip {
namespace {

// Returns one result byte of v_perm_b32: one of the eight source bytes, a replicated sign bit, 0, or 0xff.
u32 permuted_byte(u64 bytes, u32 select) {
  if (select < 8) return u32(bytes >> (8 * select)) & 0xff;
  if (select < 12) return bytes >> (16 * (select - 8) + 15) & 1 ? 0xff : 0;
  return select == 12 ? 0 : 0xff;
}
constexpr auto permute = [](u32 a, u32 b, u32 c) {
  u64 bytes = u64(a) << 32 | b;
  u32 out = 0;
  for (u32 n = 0; n < 4; n++) out |= permuted_byte(bytes, c >> (8 * n) & 0xff) << (8 * n);
  return out;
};

template <class T>
constexpr auto bit_field = [](T a, u32 offset, u32 width) {
  offset &= 31, width &= 31;
  if (width == 0) return T(0);
  u32 up = offset + width < 32 ? 32 - offset - width : 0;
  return T(T(u32(a) << up) >> (offset + width < 32 ? 32 - width : offset));
};

u32 reverse_word_bits(u32 a) {
  a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
  a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
  a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(a);
}

template <class T>
void run_select(Wave& w, const Op& o) {
  for (int half = 0; half < int(w.num_halves); half++) {
    LaneArray<T> ra, rb;
    const T *a = read_lanes(w, o.a, half, ra), *b = read_lanes(w, o.b, half, rb);
    u32 mask = w.scalar_registers[o.c.register_index + half];
    write_result<T>(w, o, half, [&](int i) { return mask >> i & 1 ? b[i] : a[i]; });
  }
}
// Builds "v_cndmask_b32 v0, v1, v2, vcc_lo". In a dual-issue pair, the mask VCC is implicit.
void build_select(CodeBuilder& b) {
  b.allow_modifiers({"dst_sel", "dst_unused", "src0_sel", "src1_sel"});
  if (b.instruction->opcode.ends_with("_sdwa")) b.throw_error("parts of registers are not known here");
  Op op = b.make_op(b.row->run_op);
  op.to = b.vector_register(b.operand(0), 1);
  op.a = b.source_operand(b.operand(1), b.row->from[0]), op.b = b.source_operand(b.operand(2), b.row->from[0]);
  op.c = SourceOperand{.register_index = b.num_operands() > 3 ? b.mask_register(b.operand(3)) : uint16_t(kVcc)};
  if (is_16_bit(b.row->from[0]) && b.code.family != GpuFamily::Gfx9) op.result_part = RegisterPart::Word0;
  b.emit_op(op);
}

void add_logic_rows(OpcodeTable& t) {
  add_row(t, "v_mov_b32", vector_row<[](float a) { return a; }>());
  add_row(t, "v_mov_b64", vector_row<[](u64 a) { return a; }>());
  add_row(t, "v_mov_b16", vector_row<[](u16 a) { return a; }>());
  add_row(t, "v_accvgpr_read_b32 v_accvgpr_write_b32 v_accvgpr_mov_b32", vector_row<[](u32 a) { return a; }>());
  add_row(t, "v_not_b32", vector_row<[](u32 a) { return ~a; }>());
  add_row(t, "v_not_b16", vector_row<[](u16 a) { return u16(~a); }>());
  add_row(t, "v_and_b32", vector_row<[](u32 a, u32 b) { return a & b; }>());
  add_row(t, "v_or_b32", vector_row<[](u32 a, u32 b) { return a | b; }>());
  add_row(t, "v_xor_b32", vector_row<[](u32 a, u32 b) { return a ^ b; }>());
  add_row(t, "v_xnor_b32", vector_row<[](u32 a, u32 b) { return ~(a ^ b); }>());
  add_row(t, "v_and_b16", vector_row<[](u16 a, u16 b) { return u16(a & b); }>());
  add_row(t, "v_or_b16", vector_row<[](u16 a, u16 b) { return u16(a | b); }>());
  add_row(t, "v_xor_b16", vector_row<[](u16 a, u16 b) { return u16(a ^ b); }>());
  add_row(t, "v_or3_b32", vector_row<[](u32 a, u32 b, u32 c) { return a | b | c; }>());
  add_row(t, "v_xor3_b32", vector_row<[](u32 a, u32 b, u32 c) { return a ^ b ^ c; }>());
  add_row(t, "v_and_or_b32", vector_row<[](u32 a, u32 b, u32 c) { return (a & b) | c; }>());
  add_row(t, "v_lshl_or_b32", vector_row<[](u32 a, u32 b, u32 c) { return a << (b & 31) | c; }>());
  add_row(t, "v_bfi_b32", vector_row<[](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }>());
}

void add_bit_field_rows(OpcodeTable& t) {
  add_row(t, "v_bfe_u32", vector_row<bit_field<u32>>());
  add_row(t, "v_bfe_i32", vector_row<bit_field<i32>>());
  add_row(t, "v_bfm_b32", vector_row<[](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); }>());
  add_row(t, "v_alignbit_b32", vector_row<[](u32 a, u32 b, u32 c) { return (u32((u64(a) << 32 | b) >> (c & 31))); }>());
  add_row(t, "v_alignbyte_b32",
          vector_row<[](u32 a, u32 b, u32 c) { return (u32((u64(a) << 32 | b) >> (8 * (c & 3)))); }>());
  add_row(t, "v_perm_b32", vector_row<permute>());
  add_row(t, "v_bfrev_b32", vector_row<[](u32 a) { return reverse_word_bits(a); }>());
  add_row(t, "v_bcnt_u32_b32", vector_row<[](u32 a, u32 b) { return u32(std::popcount(a)) + b; }>());
  add_row(t, "v_clz_i32_u32 v_ffbh_u32", vector_row<[](u32 a) { return a ? i32(std::countl_zero(a)) : -1; }>());
  add_row(t, "v_ctz_i32_b32 v_ffbl_b32", vector_row<[](u32 a) { return a ? i32(std::countr_zero(a)) : -1; }>());
  add_row(t, "v_cls_i32 v_ffbh_i32",
          vector_row<[](i32 a) { return a == 0 || a == -1 ? -1 : i32(std::countl_zero(u32(a < 0 ? ~a : a))); }>());
  add_row(t, "v_pack_b32_f16", vector_row<[](u16 a, u16 b) { return u32(a) | u32(b) << 16; }>());
  add_row(t, "v_sat_pk_u8_i16", vector_row<[](u32 a) {
            auto clamped = [](i32 v) { return u32(v < 0 ? 0 : v > 255 ? 255 : v); };
            return clamped(int16_t(a)) | clamped(int16_t(a >> 16)) << 8;
          }>());
}

}  // namespace

void add_bit_rows(OpcodeTable& t) {
  add_logic_rows(t), add_bit_field_rows(t);
  add_row(t, "v_cndmask_b32",
          {.run_op = run_select<float>, .from = {Type::F32}, .is_vector = true, .build_ops = build_select});
  add_row(t, "v_cndmask_b16",
          {.run_op = run_select<u16>, .from = {Type::U16}, .is_vector = true, .build_ops = build_select});
}

}  // namespace tgc::hip
