#include "lib/emulate/hip/builder.h"

#include <algorithm>
#include <map>

#include "lib/emulate/hip/driver.h"
#include "lib/emulate/hip/lanes.h"

namespace tgc::hip {
namespace {

struct NamedConstant {
  std::string_view name;
  uint64_t value;
};
constexpr NamedConstant kNamedConstants[] = {
    {"src_shared_base", kGroupWindowAddress},
    {"src_shared_limit", kGroupWindowAddress + kMemoryWindowBytes - 1},
    {"src_private_base", kPrivateWindowAddress},
    {"src_private_limit", kPrivateWindowAddress + kMemoryWindowBytes - 1},
};

uint64_t float_bits(double value, Type type) {
  if (num_words_of_type(type) == 2) return std::bit_cast<uint64_t>(value);
  if (is_16_bit(type)) return encode_float(value, kHalfLayout);
  return std::bit_cast<uint32_t>(float(value));
}

uint64_t integer_bits(const Operand& o, Type type) {
  if (type == Type::F64 && o.is_literal) return uint64_t(o.integer) << 32;  // a literal gives a double's upper 32 bits
  if (type == Type::I64 && o.is_literal) return uint64_t(int64_t(int32_t(o.integer)));
  return uint64_t(o.integer);
}

RegisterPart parse_register_part(std::string_view word) {
  static constexpr std::string_view kNames[] = {"DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1"};
  auto found = std::ranges::find(kNames, word);
  return found == std::end(kNames) ? RegisterPart::Whole : RegisterPart(found - std::begin(kNames));
}

bool has_modifier_bit(const Instruction& i, std::string_view modifier, size_t n, bool otherwise) {
  const OpcodeModifier* m = i.modifier(modifier);
  return m && n < m->values.size() ? m->values[n] != 0 : otherwise;
}

// Copies the low bits of register a into the part o.result_part of the destination. The other bits keep their value if
// kKeeps, else become 0.
template <bool kKeeps>
void run_insert_part(Wave& w, const Op& o) {
  static constexpr uint32_t kShift[] = {0, 0, 8, 16, 24, 0, 16};
  uint32_t shift = kShift[size_t(o.result_part)], mask = o.result_part >= RegisterPart::Word0 ? 0xffff : 0xff;
  for (int half = 0; half < int(w.num_halves); half++) {
    LaneArray<uint32_t> room;
    const uint32_t *a = operand_lanes(w, o.a, half, 0, room), *before = w.vector(o.to, uint32_t(half));
    uint32_t keep = kKeeps ? ~(mask << shift) : 0;
    write_words<uint32_t>(w, o.to, half, [&](int i) { return (before[i] & keep) | (a[i] & mask) << shift; });
  }
}

}  // namespace

void read_modified_operand(const Wave& w, const SourceOperand& from, int half, uint32_t sign, LaneArray<uint32_t>& to) {
  LaneArray<uint32_t> room;
  const uint32_t* all = operand_lanes(w, from, half, 0, room);
  static constexpr uint32_t kShift[] = {0, 0, 8, 16, 24, 0, 16};
  uint32_t bits = from.part == RegisterPart::Whole   ? 32
                  : from.part >= RegisterPart::Word0 ? 16
                                                     : 8,
           shift = kShift[size_t(from.part)];
  if (bits == 32) TGC_LANES to.lanes[i] = all[i];
  else if (from.is_signed) TGC_LANES to.lanes[i] = uint32_t(int32_t(all[i] << (32 - bits - shift)) >> (32 - bits));
  else TGC_LANES to.lanes[i] = all[i] >> shift & ((1u << bits) - 1);
  if (from.is_half) TGC_LANES to.lanes[i] = std::bit_cast<uint32_t>(half_to_float(uint16_t(to.lanes[i])));
  uint32_t keep = from.is_absolute ? ~sign : ~0u, flip = from.is_negative ? sign : 0;
  if (from.is_absolute || from.is_negative) TGC_LANES to.lanes[i] = (to.lanes[i] & keep) ^ flip;
}

void add_row(OpcodeTable& to, std::string_view names, OpcodeRow row) {
  while (!names.empty()) {
    size_t blank = std::min(names.find(' '), names.size());
    to[std::string(names.substr(0, blank))] = row;
    names.remove_prefix(std::min(blank + 1, names.size()));
  }
}

const OpcodeTable& opcode_table() {
  static const OpcodeTable table = [] {
    OpcodeTable t;
    for (auto add :
         {add_scalar_rows, add_scalar_float_rows, add_integer_rows, add_bit_rows, add_float_rows, add_convert_rows,
          add_compare_rows, add_lane_rows, add_packed_rows, add_memory_rows, add_matrix_rows, add_control_rows,
          add_atomic_rows, add_permutation_rows})
      add(t);
    return t;
  }();
  return table;
}

void CodeBuilder::throw_error(const std::string& why) const {
  throw Failure("instruction at " + hex_text(instruction->address) + " of kernel '" + code.name + "' ('" +
                std::string(instruction->text) + "'): " + why);
}

const Operand& CodeBuilder::operand(size_t n) const {
  if (n >= num_operands()) throw_error("an operand is missing");
  return instruction->operands[n];
}

uint16_t CodeBuilder::vector_register(const Operand& o, uint32_t words) const {
  if (o.kind != Operand::Vector || o.count != words)
    throw_error("'" + std::string(o.text) + "', expected " + std::to_string(words) + " vector registers");
  return uint16_t(o.register_index);
}

uint16_t CodeBuilder::scalar_register(const Operand& o, uint32_t words) const {
  if (o.kind == Operand::Null) return kDiscardRegister;
  if (o.kind != Operand::Scalar || o.count != words)
    throw_error("'" + std::string(o.text) + "', expected " + std::to_string(words) + " scalar registers");
  return uint16_t(o.register_index);
}

SourceOperand CodeBuilder::constant_operand(uint64_t value, uint32_t words) {
  std::vector<uint32_t>& pool = code.constants;
  uint32_t wanted[] = {uint32_t(value), uint32_t(value >> 32)};
  auto found = std::search(pool.begin(), pool.end(), wanted, wanted + words);
  uint32_t register_index = kFirstConstant + uint32_t(found - pool.begin());
  if (found == pool.end()) pool.insert(pool.end(), wanted, wanted + words);
  if (pool.size() > 60000) throw_error("the kernel has too many constants");
  return SourceOperand{.register_index = uint16_t(register_index)};
}

SourceOperand CodeBuilder::source_operand(const Operand& o, Type type) {
  SourceOperand s;
  switch (o.kind) {
    case Operand::Vector:
    case Operand::Scalar:
      if (o.count != num_words_of_type(type))
        throw_error("'" + std::string(o.text) + "', expected " + std::to_string(num_words_of_type(type)) +
                    " registers");
      s.register_index = uint16_t(o.register_index), s.is_vector = o.kind == Operand::Vector;
      break;
    case Operand::Integer: s = constant_operand(integer_bits(o, type), num_words_of_type(type)); break;
    case Operand::Float: s = constant_operand(float_bits(o.float_value, type), num_words_of_type(type)); break;
    case Operand::Null: s = constant_operand(0, num_words_of_type(type)); break;
    default: {
      auto named = std::ranges::find(kNamedConstants, o.text, &NamedConstant::name);
      if (named == std::end(kNamedConstants)) throw_error("unknown operand '" + std::string(o.text) + "'");
      s = num_words_of_type(type) == 2 ? constant_operand(named->value, 2) : constant_operand(named->value >> 32, 1);
    }
  }
  s.is_negative = o.is_negative, s.is_absolute = o.is_absolute;
  if ((s.is_negative || s.is_absolute) && !is_float(type)) throw_error("a sign modifier on a non-float operand");
  return s;
}

SourceOperand CodeBuilder::scratch_source(uint32_t n, RegisterPart part) const {
  return SourceOperand{.register_index = uint16_t(kFirstScratch + n), .is_vector = true, .part = part};
}

Op CodeBuilder::make_op(OpFunction run, bool is_vector) const {
  Op op{.run = run, .is_vector = is_vector};
  op.instruction = instruction_number_;
  op.clamps_result = instruction->has_modifier("clamp");
  if (int64_t factor = instruction->modifier_value("mul")) op.scale_exponent = factor == 4 ? 2 : 1;
  if (instruction->has_modifier("div")) op.scale_exponent = -1;
  return op;
}

void CodeBuilder::allow_modifiers(std::initializer_list<std::string_view> modifiers) const {
  for (const OpcodeModifier& m : instruction->modifiers)
    if (std::ranges::find(modifiers, m.name) == modifiers.end())
      throw_error("the modifier '" + std::string(m.name) + "' is not known here");
}

void CodeBuilder::build_by_types() {
  allow_modifiers({"clamp", "mul", "div", "op_sel", "byte_sel", "dst_sel", "dst_unused", "src0_sel", "src1_sel"});
  Op op = make_op(row->run_op, row->is_vector);
  if (op.clamps_result && row->is_vector && !is_float(row->to)) throw_error("clamp of an integer is not supported");
  size_t next = 0;
  bool is_scalar = !row->is_vector;
  if (row->to == Type::Mask && !is_scalar) op.to = mask_register(operand(next++));
  else if (row->to != Type::None && row->to != Type::Scc)
    op.to = is_scalar ? scalar_register(operand(next), num_words_of_type(row->to))
                      : vector_register(operand(next), num_words_of_type(row->to)),
    next++;
  SourceOperand* from[] = {&op.a, &op.b, &op.c};
  if (num_operands() != next + row->count)
    throw_error(std::to_string(num_operands()) + " operands, expected " + std::to_string(next + row->count));
  for (size_t n = 0; n < row->count; n++) {
    *from[n] = source_operand(operand(next + n), row->from[n]);
    if (is_scalar && from[n]->is_vector) throw_error("a vector register in a scalar instruction");
    if (has_modifier_bit(*instruction, "op_sel", n, false)) from[n]->part = RegisterPart::Word1;
    if (int64_t byte = instruction->modifier_value("byte_sel"); n == 0 && byte > 0 && byte < 4)
      from[n]->part = RegisterPart(size_t(RegisterPart::Byte0) + size_t(byte));
  }
  if (is_16_bit(row->to)) {
    // a 16-bit result clears the upper half of its register on gfx9; later processors keep that half
    op.result_part = code.family == GpuFamily::Gfx9 ? RegisterPart::Whole : RegisterPart::Word0;
    if (has_modifier_bit(*instruction, "op_sel", row->count, false)) op.result_part = RegisterPart::Word1;
    else if (instruction->has_modifier("op_sel")) op.result_part = RegisterPart::Word0;
  }
  if (instruction->opcode.ends_with("_sdwa")) build_sdwa(op, row->to);
  else emit_op(op);
}

// Applies the SDWA modifiers. A partial result is computed in a scratch register and then copied into its part.
void CodeBuilder::build_sdwa(Op& op, Type to) {
  SourceOperand* from[] = {&op.a, &op.b};
  static constexpr std::string_view kNames[] = {"src0_sel", "src1_sel"};
  for (size_t n = 0; n < 2 && n < row->count; n++) {
    const OpcodeModifier* m = instruction->modifier(kNames[n]);
    if (m) from[n]->part = parse_register_part(m->text_value);
    size_t first = row->to == Type::None ? 0 : 1;
    from[n]->is_signed = operand(first + n).is_sign_extended;
  }
  const OpcodeModifier *part = instruction->modifier("dst_sel"), *unused = instruction->modifier("dst_unused");
  RegisterPart result_part = part ? parse_register_part(part->text_value) : RegisterPart::Whole;
  if (result_part == RegisterPart::Whole || to == Type::Mask) return emit_op(op);
  Op place =
      make_op(unused && unused->text_value == "UNUSED_PRESERVE" ? run_insert_part<true> : run_insert_part<false>);
  if (unused && unused->text_value == "UNUSED_SEXT") throw_error("dst_unused:UNUSED_SEXT is not known");
  place.to = op.to, place.result_part = result_part, place.a = scratch_source(0);
  op.to = scratch_source(0).register_index, op.result_part = RegisterPart::Whole;
  emit_op(op), emit_op(place);
}

void CodeBuilder::build_instruction() {
  if (instruction->opcode.ends_with("_dpp")) return build_dpp();
  name = instruction->opcode;
  for (std::string_view suffix : {"_e32", "_e64", "_sdwa"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  std::string whole(name);
  if (name.starts_with("v_dual_")) whole = "v_" + whole.substr(7);
  auto found = opcode_table().find("gfx12:" + whole);  // rows for names that have another meaning on gfx12
  if (code.family != GpuFamily::Gfx12 || found == opcode_table().end()) found = opcode_table().find(whole);
  if (found == opcode_table().end()) throw_error("unknown instruction '" + std::string(instruction->opcode) + "'");
  row = &found->second, name = found->first;
  if (row->build_ops) row->build_ops(*this);
  else build_by_types();
}

// Builds a dual-issue pair. Both instructions read before either writes, so an instruction that reads the result of the
// other one is emitted first. If each reads the other's result, the first one's result stays in scratch until the end.
void CodeBuilder::build_pair(uint32_t first) {
  auto build_at = [&](uint32_t n) { go_to_instruction(n), build_instruction(); };
  auto reads = [&](uint32_t reader, uint32_t writer) {
    const Instruction &r = code.instructions[reader], &w = code.instructions[writer];
    if (w.operands.empty()) return false;
    const Operand& to = w.operands[0];
    // fmac also reads operand 0, its destination
    for (size_t n = r.opcode.find("fmac") != r.opcode.npos ? 0 : 1; n < r.operands.size(); n++) {
      const Operand& o = r.operands[n];
      if (o.kind == to.kind && o.register_index < to.register_index + to.count &&
          to.register_index < o.register_index + o.count)
        return true;
    }
    return false;
  };
  if (!reads(first + 1, first)) return build_at(first), build_at(first + 1);
  if (!reads(first, first + 1)) return build_at(first + 1), build_at(first);
  size_t begin = code.ops.size();
  build_at(first);
  if (code.ops.size() != begin + 1) throw_error("operands of a dual-issue pair depend on each other");
  uint16_t to = std::exchange(code.ops.back().to, uint16_t(kFirstScratch));
  build_at(first + 1);
  go_to_instruction(first);
  Op move = CodeBuilder::make_op(opcode_table().at("v_mov_b32").run_op);
  move.to = to, move.a = scratch_source(0);
  emit_op(move);
}

void CodeBuilder::build_ops() {
  if (code.instructions.empty()) throw Failure("the kernel '" + code.name + "' has no code");
  std::vector<uint32_t> first_op(code.instructions.size());
  for (uint32_t n = 0; n < code.instructions.size(); n++) {
    first_op[n] = uint32_t(code.ops.size());
    go_to_instruction(n);
    bool is_pair = instruction->bytes == 0 && n + 1 < code.instructions.size();
    if (is_pair) first_op[n + 1] = first_op[n], build_pair(n), n++;
    else build_instruction();
  }
  std::map<uint64_t, uint32_t> op_at;
  for (uint32_t n = 0; n < code.instructions.size(); n++) op_at.emplace(code.instructions[n].address, first_op[n]);
  for (Op& op : code.ops) {
    if (op.target == 0) continue;  // not a jump; the target of a jump is still an address here
    auto found = op_at.find(op.target);
    go_to_instruction(op.instruction);
    if (found == op_at.end()) throw_error("jumps to " + hex_text(op.target) + ", where no instruction begins");
    op.target = found->second;
  }
  Op end = make_op(
      [](Wave& w, const Op& o) { throw_fault(w, o, 0, kIllegalInstruction, "runs beyond the end of the code"); },
      false);
  end.instruction = uint32_t(code.instructions.size() - 1);
  emit_op(end);
}

std::string TranslatedKernel::instruction_text(uint32_t n) const {
  const Instruction& i = instructions[n];
  std::string out = "kernel '" + name + "', instruction at " + hex_text(i.address) + " ('" + std::string(i.text) + "')";
  if (i.source_line) out += ", line " + std::to_string(i.source_line) + " of the source";
  return out;
}

}  // namespace tgc::hip
