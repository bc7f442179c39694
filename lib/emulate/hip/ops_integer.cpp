#include "lib/emulate/hip/lanes.h"

namespace tgc::hip {
namespace {

u32 low24(u32 a) { return a & 0xffffff; }
i32 low24_signed(u32 a) { return i32(a << 8) >> 8; }

template <class T>
constexpr auto minimum = [](T a, T b) { return a < b ? a : b; };
template <class T>
constexpr auto maximum = [](T a, T b) { return a > b ? a : b; };
template <class T>
constexpr auto minimum3 = [](T a, T b, T c) { return minimum<T>(minimum<T>(a, b), c); };
template <class T>
constexpr auto maximum3 = [](T a, T b, T c) { return maximum<T>(maximum<T>(a, b), c); };
template <class T>
constexpr auto median = [](T a, T b, T c) { return maximum<T>(minimum<T>(a, b), minimum<T>(maximum<T>(a, b), c)); };

template <class T>
void add_min_max_rows(OpcodeTable& t, const std::string& type) {
  add_row(t, "v_min_" + type, vector_row<minimum<T>>());
  add_row(t, "v_max_" + type, vector_row<maximum<T>>());
  add_row(t, "v_min3_" + type, vector_row<minimum3<T>>());
  add_row(t, "v_max3_" + type, vector_row<maximum3<T>>());
  add_row(t, "v_med3_" + type, vector_row<median<T>>());
}

// Adds or subtracts with carry out and, if kTakesCarry, carry in. F(a, b, carry) is the 64-bit result.
template <auto F, bool kTakesCarry>
void run_carry_op(Wave& w, const Op& o) {
  for (int half = 0; half < int(w.num_halves); half++) {
    LaneArray<u32> ra, rb, out;
    const u32 *a = read_lanes(w, o.a, half, ra), *b = read_lanes(w, o.b, half, rb);
    u32 in = kTakesCarry ? w.scalar_registers[o.c.register_index + half] : 0, carry = 0;
    TGC_LANES {
      u64 sum = F(u64(a[i]), u64(b[i]), u64(in >> i & 1));
      out.lanes[i] = u32(sum);
      carry |= u32(sum >> 32 & 1) << i;
    }
    write_mask(w, o.second_destination, half, carry & w.exec(u32(half)));
    write_words<u32>(w, o.to, half, [&](int i) { return out.lanes[i]; });
  }
}
// Builds "v_add_co_u32 v0, vcc_lo, v1, v2" and, with carry in, "v_add_co_ci_u32 v0, vcc_lo, v1, v2, vcc_lo".
void build_carry_op(CodeBuilder& b) {
  b.allow_modifiers({});
  Op op = b.make_op(b.row->run_op);
  op.to = b.vector_register(b.operand(0), 1), op.second_destination = b.mask_register(b.operand(1));
  op.a = b.source_operand(b.operand(2), Type::U32), op.b = b.source_operand(b.operand(3), Type::U32);
  if (b.row->count == 3) op.c = SourceOperand{.register_index = b.mask_register(b.operand(4))};
  b.emit_op(op);
}
template <auto F>
void add_carry_rows(OpcodeTable& t, std::string_view plain, std::string_view carried) {
  add_row(t, plain, {.run_op = run_carry_op<F, false>, .count = 2, .is_vector = true, .build_ops = build_carry_op});
  add_row(t, carried, {.run_op = run_carry_op<F, true>, .count = 3, .is_vector = true, .build_ops = build_carry_op});
}
constexpr auto kAdd = [](u64 a, u64 b, u64 c) { return a + b + c; };
constexpr auto kSub = [](u64 a, u64 b, u64 c) { return a - b - c; };
constexpr auto kSubReversed = [](u64 a, u64 b, u64 c) { return b - a - c; };

// In "v_mad_u64_u32 v[0:1], vcc_lo, v2, v3, v[4:5]", the second result is the carry out of the 64-bit sum.
template <class T>
void run_wide_mad(Wave& w, const Op& o) {
  for (int half = 0; half < int(w.num_halves); half++) {
    LaneArray<T> ra, rb;
    LaneArray<u64> rc, out;
    const T *a = read_lanes(w, o.a, half, ra), *b = read_lanes(w, o.b, half, rb);
    const u64* c = read_lanes(w, o.c, half, rc);
    u32 carry = 0;
    TGC_LANES {
      u64 product = std::is_signed_v<T> ? u64(i64(a[i]) * i64(b[i])) : u64(a[i]) * u64(b[i]);
      out.lanes[i] = product + c[i];
      carry |= u32(out.lanes[i] < product) << i;
    }
    write_mask(w, o.second_destination, half, carry & w.exec(u32(half)));
    write_result<u64>(w, o, half, [&](int i) { return out.lanes[i]; });
  }
}
void build_wide_mad(CodeBuilder& b) {
  b.allow_modifiers({});
  Op op = b.make_op(b.row->run_op);
  op.to = b.vector_register(b.operand(0), 2), op.second_destination = b.mask_register(b.operand(1));
  Type type = b.row->from[0];
  op.a = b.source_operand(b.operand(2), type), op.b = b.source_operand(b.operand(3), type);
  op.c = b.source_operand(b.operand(4), Type::I64 == type ? Type::I64 : Type::U64);
  b.emit_op(op);
}

void add_addition_rows(OpcodeTable& t) {
  add_carry_rows<kAdd>(t, "v_add_co_u32", "v_add_co_ci_u32 v_addc_co_u32");
  add_carry_rows<kSub>(t, "v_sub_co_u32", "v_sub_co_ci_u32 v_subb_co_u32");
  add_carry_rows<kSubReversed>(t, "v_subrev_co_u32", "v_subrev_co_ci_u32 v_subbrev_co_u32");
  add_row(t, "v_add_nc_u32 v_add_u32", vector_row<[](u32 a, u32 b) { return a + b; }>());
  add_row(t, "v_sub_nc_u32 v_sub_u32", vector_row<[](u32 a, u32 b) { return a - b; }>());
  add_row(t, "v_subrev_nc_u32 v_subrev_u32", vector_row<[](u32 a, u32 b) { return b - a; }>());
  add_row(t, "v_add_nc_i32 v_add_i32", vector_row<[](u32 a, u32 b) { return a + b; }>());
  add_row(t, "v_sub_nc_i32 v_sub_i32", vector_row<[](u32 a, u32 b) { return a - b; }>());
  add_row(t, "v_add_nc_u16 v_add_u16 v_add_nc_i16 v_add_i16", vector_row<[](u16 a, u16 b) { return u16(a + b); }>());
  add_row(t, "v_sub_nc_u16 v_sub_u16 v_sub_nc_i16 v_sub_i16", vector_row<[](u16 a, u16 b) { return u16(a - b); }>());
  add_row(t, "v_subrev_u16", vector_row<[](u16 a, u16 b) { return u16(b - a); }>());
  add_row(t, "v_add3_u32", vector_row<[](u32 a, u32 b, u32 c) { return a + b + c; }>());
  add_row(t, "v_xad_u32", vector_row<[](u32 a, u32 b, u32 c) { return (a ^ b) + c; }>());
  add_row(t, "v_lshl_add_u32", vector_row<[](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; }>());
  add_row(t, "v_add_lshl_u32", vector_row<[](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); }>());
  add_row(t, "v_lshl_add_u64", vector_row<[](u64 a, u32 b, u64 c) { return (a << (b & 7)) + c; }>());
}

void add_product_rows(OpcodeTable& t) {
  add_row(t, "v_mul_lo_u32", vector_row<[](u32 a, u32 b) { return a * b; }>());
  add_row(t, "v_mul_hi_u32", vector_row<[](u32 a, u32 b) { return (u32(u64(a) * b >> 32)); }>());
  add_row(t, "v_mul_hi_i32", vector_row<[](i32 a, i32 b) { return (i32(i64(a) * b >> 32)); }>());
  add_row(t, "v_mul_u32_u24", vector_row<[](u32 a, u32 b) { return low24(a) * low24(b); }>());
  add_row(t, "v_mul_i32_i24", vector_row<[](u32 a, u32 b) { return u32(low24_signed(a)) * u32(low24_signed(b)); }>());
  add_row(t, "v_mul_hi_u32_u24", vector_row<[](u32 a, u32 b) { return (u32(u64(low24(a)) * low24(b) >> 32)); }>());
  add_row(t, "v_mul_hi_i32_i24",
          vector_row<[](u32 a, u32 b) { return (i32(i64(low24_signed(a)) * low24_signed(b) >> 32)); }>());
  add_row(t, "v_mad_u32_u24", vector_row<[](u32 a, u32 b, u32 c) { return low24(a) * low24(b) + c; }>());
  add_row(t, "v_mad_i32_i24",
          vector_row<[](u32 a, u32 b, u32 c) { return u32(low24_signed(a)) * u32(low24_signed(b)) + c; }>());
  add_row(t, "v_mul_lo_u16", vector_row<[](u16 a, u16 b) { return u16(u32(a) * b); }>());
  add_row(t, "v_mad_u16 v_mad_i16", vector_row<[](u16 a, u16 b, u16 c) { return u16(u32(a) * b + c); }>());
  add_row(t, "v_mad_u32_u16", vector_row<[](u16 a, u16 b, u32 c) { return u32(a) * b + c; }>());
  add_row(t, "v_mad_i32_i16", vector_row<[](i16 a, i16 b, u32 c) { return u32(i32(a) * b) + c; }>());
  add_row(t, "v_sad_u32", vector_row<[](u32 a, u32 b, u32 c) { return ((a > b ? a - b : b - a) + c); }>());
  add_row(t, "v_mad_u64_u32 v_mad_co_u64_u32",
          {.run_op = run_wide_mad<u32>, .from = {Type::U32}, .is_vector = true, .build_ops = build_wide_mad});
  add_row(t, "v_mad_i64_i32 v_mad_co_i64_i32",
          {.run_op = run_wide_mad<i32>, .from = {Type::I32}, .is_vector = true, .build_ops = build_wide_mad});
}

void add_shift_rows(OpcodeTable& t) {
  add_row(t, "v_lshlrev_b32", vector_row<[](u32 a, u32 b) { return b << (a & 31); }>());
  add_row(t, "v_lshrrev_b32", vector_row<[](u32 a, u32 b) { return (b >> (a & 31)); }>());
  add_row(t, "v_ashrrev_i32", vector_row<[](u32 a, i32 b) { return (b >> (a & 31)); }>());
  add_row(t, "v_lshlrev_b16", vector_row<[](u16 a, u16 b) { return u16(b << (a & 15)); }>());
  add_row(t, "v_lshrrev_b16", vector_row<[](u16 a, u16 b) { return (u16(b >> (a & 15))); }>());
  add_row(t, "v_ashrrev_i16", vector_row<[](u16 a, i16 b) { return (i16(b >> (a & 15))); }>());
  add_row(t, "v_lshlrev_b64", vector_row<[](u32 a, u64 b) { return b << (a & 63); }>());
  add_row(t, "v_lshrrev_b64", vector_row<[](u32 a, u64 b) { return (b >> (a & 63)); }>());
  add_row(t, "v_ashrrev_i64", vector_row<[](u32 a, i64 b) { return (b >> (a & 63)); }>());
}

}  // namespace

void add_integer_rows(OpcodeTable& t) {
  add_addition_rows(t), add_product_rows(t), add_shift_rows(t);
  add_min_max_rows<u16>(t, "u16"), add_min_max_rows<i16>(t, "i16"), add_min_max_rows<u32>(t, "u32"),
      add_min_max_rows<i32>(t, "i32");
}

}  // namespace tgc::hip
