// Packed instructions and dot products. v_pk_X applies v_X to both halves of a register, or to both registers of a
// pair: the builder emits two v_X operations and then combines their results.
#include "lib/emulate/hip/lanes.h"

namespace tgc::hip {
namespace {

bool modifier_bit(const CodeBuilder& b, const char* name, size_t n, bool otherwise) {
  const OpcodeModifier* m = b.instruction->modifier(name);
  return m && n < m->values.size() ? m->values[n] != 0 : otherwise;
}

// Returns the n-th operand for the lower or, if `upper`, the upper of the two operations.
SourceOperand packed_operand(CodeBuilder& b, size_t n, Type type, bool upper) {
  Operand o = b.operand(n + 1);
  bool second = upper ? modifier_bit(b, "op_sel_hi", n, true) : modifier_bit(b, "op_sel", n, false);
  bool negative = modifier_bit(b, upper ? "neg_hi" : "neg_lo", n, false);
  SourceOperand s;
  if (type == Type::F32) {
    if (o.is_register()) {
      if (o.count != 2) b.throw_error("'" + std::string(o.text) + "', expected 2 registers");
      o.register_index += second, o.count = 1;
    }
    s = b.source_operand(o, Type::F32);
  } else {
    s = b.source_operand(o, o.kind == Operand::Float ? type : Type::U32);
    s.part = second ? RegisterPart::Word1 : RegisterPart::Word0;
  }
  s.is_negative = s.is_negative != negative;
  return s;
}

void build_packed(CodeBuilder& b) {
  b.allow_modifiers({"op_sel", "op_sel_hi", "neg_lo", "neg_hi", "clamp"});
  std::string single = "v_" + std::string(b.name.substr(5));
  if (auto end = single.find("_u16");
      end != single.npos && (single.starts_with("v_add_") || single.starts_with("v_sub_")))
    single.insert(5, "_nc");
  const OpcodeRow& row = opcode_table().at(single);
  Type type = row.to;
  bool accumulates = single.starts_with("v_fmac");
  if (accumulates) b.throw_error("packed fmac is not supported");
  if (b.num_operands() != row.count + 1u) b.throw_error("a wrong number of operands");
  for (bool upper : {false, true}) {
    Op op = b.make_op(row.run_op);
    op.to = uint16_t(kFirstScratch + upper);
    SourceOperand* from[] = {&op.a, &op.b, &op.c};
    for (size_t n = 0; n < row.count; n++) *from[n] = packed_operand(b, n, type, upper);
    b.emit_op(op);
  }
  if (type == Type::F32) {
    uint16_t to = b.vector_register(b.operand(0), 2);
    for (uint16_t n = 0; n < 2; n++) {
      Op move = b.make_op(opcode_table().at("v_mov_b32").run_op);
      move.clamps_result = false, move.a = b.scratch_source(n), move.to = uint16_t(to + n);
      b.emit_op(move);
    }
    return;
  }
  Op pack = b.make_op(opcode_table().at("v_pack_b32_f16").run_op);
  pack.clamps_result = false, pack.to = b.vector_register(b.operand(0), 1), pack.a = b.scratch_source(0),
  pack.b = b.scratch_source(1);
  b.emit_op(pack);
}

// Builds "v_pk_mov_b32 v[0:1], v[2:3], v[4:5] op_sel:[1,0]", which takes one register of each operand.
void build_packed_move(CodeBuilder& b) {
  b.allow_modifiers({"op_sel", "op_sel_hi"});
  for (size_t n = 0; n < 2; n++) {
    Operand o = b.operand(n + 1);
    if (o.is_register()) o.register_index += modifier_bit(b, "op_sel", n, n == 1), o.count = 1;
    Op move = b.make_op(opcode_table().at("v_mov_b32").run_op);
    move.a = b.source_operand(o, Type::F32), move.to = uint16_t(kFirstScratch + n);
    b.emit_op(move);
  }
  for (uint16_t n = 0; n < 2; n++) {
    Op move = b.make_op(opcode_table().at("v_mov_b32").run_op);
    move.a = b.scratch_source(n), move.to = uint16_t(b.vector_register(b.operand(0), 2) + n);
    b.emit_op(move);
  }
}

template <class A, class B>
constexpr auto dot4 = [](uint32_t a, uint32_t b, uint32_t c) {
  int32_t sum = 0;
  for (int n = 0; n < 32; n += 8) sum += int32_t(A(a >> n)) * int32_t(B(b >> n));
  return uint32_t(sum) + c;
};
void build_dot4(CodeBuilder& b) {  // neg_lo says which operands are signed
  b.allow_modifiers({"neg_lo"});
  static constexpr OpcodeRow kRows[] = {vector_row<dot4<uint8_t, uint8_t>>(), vector_row<dot4<int8_t, uint8_t>>(),
                                  vector_row<dot4<uint8_t, int8_t>>(), vector_row<dot4<int8_t, int8_t>>()};
  Op op = b.make_op(kRows[modifier_bit(b, "neg_lo", 0, false) + 2 * modifier_bit(b, "neg_lo", 1, false)].run_op);
  op.to = b.vector_register(b.operand(0), 1);
  op.a = b.source_operand(b.operand(1), Type::U32), op.b = b.source_operand(b.operand(2), Type::U32);
  op.c = b.source_operand(b.operand(3), Type::U32);
  b.emit_op(op);
}
constexpr auto dot2 = [](uint32_t a, uint32_t b, float c) {
  double sum = c;
  for (int n = 0; n < 32; n += 16) sum += double(half_to_float(uint16_t(a >> n))) * half_to_float(uint16_t(b >> n));
  return float(sum);
};

}  // namespace

void add_packed_rows(OpcodeTable& t) {
  for (const char* name :
       {"add_f16", "mul_f16", "fma_f16",     "min_f16",     "max_f16",     "min_num_f16", "max_num_f16", "add_u16",
        "sub_u16", "add_i16", "sub_i16",     "mul_lo_u16",  "mad_u16",     "mad_i16",     "min_u16",     "max_u16",
        "min_i16", "max_i16", "lshlrev_b16", "lshrrev_b16", "ashrrev_i16", "add_f32",     "mul_f32",     "fma_f32"})
    add_row(t, std::string("v_pk_") + name, {.is_vector = true, .build_ops = build_packed});
  add_row(t, "v_dot4_u32_u8", vector_row<dot4<uint8_t, uint8_t>>());
  add_row(t, "v_dot4_i32_i8", vector_row<dot4<int8_t, int8_t>>());
  add_row(t, "v_dot4_i32_iu8", {.is_vector = true, .build_ops = build_dot4});
  add_row(t, "v_dot2_f32_f16", vector_row<dot2>());
  add_row(t, "v_pk_mov_b32", {.is_vector = true, .build_ops = build_packed_move});
}

}  // namespace tgc::hip
