#include "lib/emulate/cuda/builder.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace tgc::ptx {
namespace {

const OpcodeRow* find_opcode_row(std::string_view opcode) {
  static const std::unordered_map<std::string_view, const OpcodeRow*> kRows = [] {
    std::unordered_map<std::string_view, const OpcodeRow*> out;
    for (auto rows : {arithmetic_opcode_rows(), bit_opcode_rows(), float_opcode_rows(), compare_opcode_rows(),
                      convert_opcode_rows(), memory_opcode_rows(), atomic_opcode_rows(), control_opcode_rows(),
                      warp_opcode_rows(), mma_opcode_rows()})
      for (const OpcodeRow& row : rows) out[row.opcode] = &row;
    return out;
  }();
  auto found = kRows.find(opcode);
  return found == kRows.end() ? nullptr : found->second;
}

const std::map<std::string_view, SpecialRegister>& special_registers_by_name() {
  static const std::map<std::string_view, SpecialRegister> kNames{
#define X(name, text) {text, SpecialRegister::name},
      TGC_PTX_SPECIALS(X)
#undef X
  };
  return kNames;
}

bool differs_by_lane(SpecialRegister s) { return s >= SpecialRegister::Laneid && s != SpecialRegister::Gridid; }

}  // namespace

CodeBuilder::CodeBuilder(TranslatedKernel& code, const std::map<std::string_view, uint64_t>& globals)
    : kernel_code_(code), function_(*code.function) {
  for (auto& [name, address] : globals) variables_[name] = {Space::Global, address};
  for (const Register& r : function_.registers)
    register_bits_.push_back(r.type == Type::Pred ? 1 : register_bits(r.type));
}

void CodeBuilder::throw_error(const std::string& why, const std::string& expected) const {
  throw Failure(Diag{.message = "'" + std::string(instruction_->opcode) + "': " + why,
                     .line = instruction_->line,
                     .expected = expected});
}

void CodeBuilder::throw_type_error(Type t, const std::string& expected) const {
  throw_error("the type ." + std::string(ptx_name(t)) + " does not go with it", expected);
}

void CodeBuilder::check_operand_count(size_t least, size_t most) {
  if (num_operands() < least || num_operands() > most)
    throw_error(std::to_string(num_operands()) + " operands",
                std::to_string(least) + (most > least ? " to " + std::to_string(most) : ""));
}

bool CodeBuilder::accept_modifier(std::string_view word) {
  if (next_modifier_ == modifiers_.size() || modifiers_[next_modifier_] != word) return false;
  next_modifier_++;
  return true;
}
int CodeBuilder::accept_any_modifier(std::initializer_list<std::string_view> words, int otherwise) {
  for (size_t n = 0; n < words.size(); n++)
    if (accept_modifier(words.begin()[n])) return int(n);
  return otherwise;
}
std::optional<Type> CodeBuilder::accept_type() {
  auto type = next_modifier_ < modifiers_.size() ? find_type(modifiers_[next_modifier_]) : std::nullopt;
  if (type) next_modifier_++;
  return type;
}
Type CodeBuilder::expect_type() {
  auto type = accept_type();
  if (!type)
    throw_error(next_modifier_ < modifiers_.size()
                ? "unknown modifier '." + std::string(modifiers_[next_modifier_]) + "'"
                : "no type follows",
                "a type");
  return *type;
}
void CodeBuilder::refuse_more_modifiers() {
  if (next_modifier_ < modifiers_.size())
    throw_error("unknown modifier '." + std::string(modifiers_[next_modifier_]) + "'");
}

uint32_t CodeBuilder::new_register(unsigned bits) {
  register_bits_.push_back(bits);
  return uint32_t(register_bits_.size() - 1);
}
uint32_t CodeBuilder::temporary_register(unsigned bits) { return new_register(bits); }

const Register& CodeBuilder::check_register(int32_t reg, Type type, WidthRule width) const {
  const Register& r = function_.registers[size_t(reg)];
  bool wider = width == WidthRule::Wider;
  unsigned have = register_bits_[size_t(reg)], want = type == Type::Pred ? 1 : register_bits(type);
  auto mismatch = [&] {
    throw_error("the register " + std::string(r.name) + " is a ." + std::string(ptx_name(r.type)),
                "a ." + std::string(ptx_name(type)));
  };
  if ((r.type == Type::Pred) != (type == Type::Pred)) mismatch();
  if (have != want && !(wider && have > want)) mismatch();
  TypeKind a = type_kind(r.type), b = type_kind(type);
  if (have == want && a != b && (a == TypeKind::Float || b == TypeKind::Float) && a != TypeKind::Bits &&
      b != TypeKind::Bits && !(a >= TypeKind::Float && b >= TypeKind::Float) && !wider)
    mismatch();
  return r;
}

uint32_t CodeBuilder::constant_register(uint64_t low, unsigned bits) {
  if (bits > 1 && bits < 64) low &= (uint64_t(1) << bits) - 1;  // a predicate (1 bit) is a mask of all lanes: keep it
  auto [found, is_new] = constant_registers_.emplace(std::pair{low, bits}, 0);
  if (is_new) {
    found->second = new_register(bits);
    kernel_code_.presets.push_back({.kind = RegisterPreset::Constant,
                             .lane_bytes = uint8_t(bits / 8),
                             .register_offset = found->second,
                             .immediate = {low, 0}});
  }
  return found->second;
}
uint32_t CodeBuilder::special_register(ptx::SpecialRegister s) {
  auto [found, is_new] = special_registers_.emplace(s, 0);
  if (is_new) {
    found->second = new_register(32);
    kernel_code_.presets.push_back(
        {.kind = RegisterPreset::Special, .lane_bytes = 4, .register_offset = found->second, .special = s});
  }
  if (differs_by_lane(s)) kernel_code_.is_lane_independent = false;
  return found->second;
}
uint32_t CodeBuilder::parameter_register(uint32_t offset, unsigned bytes) {
  auto [found, is_new] = parameter_registers_.emplace(std::pair{offset, bytes}, 0);
  if (is_new) {
    found->second = new_register(std::max(bytes * 8, 16u));
    kernel_code_.presets.push_back({.kind = RegisterPreset::Parameter,
                                    .lane_bytes = uint8_t(bytes),
                                    .register_offset = found->second,
                                    .offset = offset});
  }
  return found->second;
}

uint32_t CodeBuilder::register_of_name(const Operand& o, Type t) {
  if (o.name[0] == '%') {
    unsigned want = register_bits(t);
    if (o.name == "%clock" || o.name == "%clock64" || o.name == "%globaltimer" || o.name == "%activemask")
      throw_error("the special register " + std::string(o.name) + " is not supported");
    auto found = special_registers_by_name().find(o.name);
    if (found == special_registers_by_name().end())
      throw_error("'" + std::string(o.name) + "' is neither a register nor a special one");
    uint32_t value = special_register(found->second);
    if (want == 32) return value;
    uint32_t other = temporary_register(want);
    emit_op(
        {.run = want < 32 ? narrowing_handler(32, want) : widening_handler(32, want, false), .d = other, .a = value});
    return other;
  }
  if (const Variable* p = find_parameter(o.name))
    throw_error("the address of the parameter '" + std::string(p->name) + "' is not supported");
  return constant_register(variable(o.name).address + o.bits, register_bits(t));
}

uint32_t CodeBuilder::source_register(const Operand& o, Type t, WidthRule width) {
  unsigned want = t == Type::Pred ? 1 : register_bits(t);
  if (o.kind == Operand::Reg) {
    check_register(o.reg, t, width);
    if (o.second_register >= 0) throw_error("a register pair as a source operand");
    unsigned have = register_bits_[size_t(o.reg)];
    uint32_t value = uint32_t(o.reg);
    if (have != want) {
      value = temporary_register(want);
      emit_op({.run = narrowing_handler(have, want), .d = value, .a = uint32_t(o.reg)});
    }
    return value;
  }
  if (t == Type::Pred) {
    if (o.kind != Operand::Integer) throw_error("an operand is not a predicate");
    return constant_register(o.bits ? UINT32_MAX : 0, 1);
  }
  if (o.kind == Operand::Integer) {
    uint64_t value = o.bits;
    if (type_kind(t) == TypeKind::Float && bits(t) > 16 && info_of_type(t).count == 1)
      throw_error("an integer constant for a float operand");
    return constant_register(value, want);
  }
  if (o.kind == Operand::Real) {
    if (is_integer(t) && type_kind(t) != TypeKind::Bits) throw_error("a float constant for an integer operand");
    uint64_t value = o.bits;
    if (o.is_double && want == 32) value = std::bit_cast<uint32_t>(float(std::bit_cast<double>(value)));
    if (!o.is_double && want == 64) value = std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(value))));
    if (want == 16) throw_error("a float constant for a 16-bit operand", "its bits, as 0x3C00");
    return constant_register(value, want);
  }
  if (o.kind == Operand::Name) return register_of_name(o, t);
  throw_error("an operand is neither a register nor a number");
}

uint32_t CodeBuilder::output_register(const Operand& o, Type t, WidthRule width) {
  unsigned want = t == Type::Pred ? 1 : register_bits(t);
  if (o.kind == Operand::Sink) return temporary_register(want);
  if (o.kind != Operand::Reg || o.is_negated) throw_error("the destination is not a register");
  check_register(o.reg, t, width);
  unsigned have = register_bits_[size_t(o.reg)];
  if (have == want) return uint32_t(o.reg);
  uint32_t value = temporary_register(want);
  deferred_ops_.push_back({.run = widening_handler(want, have, is_signed(t)), .d = uint32_t(o.reg), .a = value});
  return value;
}

const std::vector<Operand>& CodeBuilder::operand_parts(const Operand& list, size_t n, const std::string& what) const {
  if (list.kind != Operand::List || list.parts.size() != n)
    throw_error(what + " is not a list of " + std::to_string(n), "{...} of " + std::to_string(n) + " registers");
  return list.parts;
}
std::vector<uint32_t> CodeBuilder::source_registers(const Operand& list, size_t n, Type t, WidthRule width) {
  std::vector<uint32_t> out;
  for (const Operand& o : operand_parts(list, n, "an operand")) out.push_back(source_register(o, t, width));
  return out;
}
std::vector<uint32_t> CodeBuilder::output_registers(const Operand& list, size_t n, Type t, WidthRule width) {
  std::vector<uint32_t> out;
  for (const Operand& o : operand_parts(list, n, "the destination")) out.push_back(output_register(o, t, width));
  return out;
}

void CodeBuilder::emit_op(Op op) { emit_op(op, {}, {}); }

void CodeBuilder::emit_value(Op op, Type result, std::initializer_list<Type> sources) {
  refuse_more_modifiers();
  check_operand_count(1 + sources.size());
  uint32_t* from[] = {&op.a, &op.b, &op.c};
  for (size_t n = 0; n < sources.size(); n++) *from[n] = source_register(n + 1, sources.begin()[n]);
  op.d = output_register(0, result);
  emit_op(op);
}

void CodeBuilder::emit_op(Op op, std::span<const uint32_t> outs, std::span<const uint32_t> ins) {
  op.guard = instruction_->guard < 0 ? kNoIndex : uint32_t(instruction_->guard);
  op.guard_flip_mask = instruction_->is_guard_negated ? UINT32_MAX : 0;
  op.instruction = uint32_t(instruction_ - function_.body.data());
  if (!outs.empty() || !ins.empty()) {
    op.more_operands = uint32_t(kernel_code_.operands.size());
    op.num_more_operands = uint32_t(outs.size() + ins.size());
    kernel_code_.operands.insert(kernel_code_.operands.end(), outs.begin(), outs.end());
    kernel_code_.operands.insert(kernel_code_.operands.end(), ins.begin(), ins.end());
  }
  kernel_code_.ops.push_back(op);
  output_counts_.push_back(uint8_t(outs.size()));
}

void CodeBuilder::emit_jump(Op op, std::string_view label) {
  if (!function_.labels.contains(label)) throw_error("there is no label '" + std::string(label) + "'");
  label_jumps_.emplace_back(kernel_code_.ops.size(), label);
  emit_op(op);
}

void CodeBuilder::emit_table_jump(Op op, std::string_view table) {
  auto found = function_.branch_targets.find(table);
  if (found == function_.branch_targets.end()) throw_error("there are no branch targets '" + std::string(table) + "'");
  op.immediate = int64_t(kernel_code_.jump_targets.size());
  op.num_more_operands = uint32_t(found->second.size());
  for (std::string_view label : found->second)
    kernel_code_.jump_targets.push_back(function_.labels.find(label)->second);
  emit_op(op);
}

void CodeBuilder::lay_out_variables() {
  constexpr uint64_t kMostBytes = 512 << 10;  // hardware limit of local memory; also the limit of shared memory here
  auto place = [&](const Variable& v, uint64_t& end, Space space) {
    end = (end + v.align - 1) / v.align * v.align;
    if (!variables_.emplace(v.name, VariableAddress{space, end}).second && space != Space::Shared)
      throw Failure(Diag{.message = "'" + std::string(v.name) + "' is declared twice", .line = v.line});
    end += v.bytes;
    if (end > kMostBytes)
      throw Failure(
          Diag{.message = "'" + std::string(v.name) + "' exceeds 512 KiB of shared or local memory", .line = v.line});
  };
  for (int last : {0, 1})  // dynamic (.extern) shared memory lies after the other variables
    for (const auto* variables : {&kernel_code_.module->globals, &function_.locals})
      for (const Variable& v : *variables)
        if (v.space == Space::Shared && v.is_extern == bool(last)) place(v, kernel_code_.shared_bytes, Space::Shared);
  for (const Variable& v : function_.locals)
    if (v.space == Space::Local) place(v, kernel_code_.local_bytes, Space::Local);
    else if (v.space != Space::Shared)
      throw Failure(Diag{.message = "'" + std::string(v.name) + "' is declared in a function body",
                         .line = v.line,
                         .expected = "a .global or .const variable of the module"});
}

CodeBuilder::VariableAddress CodeBuilder::variable(std::string_view name) const {
  auto found = variables_.find(name);
  if (found == variables_.end()) throw_error("there is no variable '" + std::string(name) + "'");
  return found->second;
}
const Variable* CodeBuilder::find_parameter(std::string_view name) const {
  for (const Variable& p : function_.parameters)
    if (p.name == name) return &p;
  return nullptr;
}

void CodeBuilder::translate(const Instruction& i) {
  instruction_ = &i;
  modifiers_.clear();
  next_modifier_ = 0;
  std::string_view rest = i.opcode;
  size_t dot = rest.find('.');
  const OpcodeRow* row = find_opcode_row(rest.substr(0, dot));
  if (!row) throw Failure(Diag{.message = "unknown instruction '" + std::string(i.opcode) + "'", .line = i.line});
  while (dot != rest.npos) {
    rest = rest.substr(dot + 1);
    dot = rest.find('.');
    modifiers_.push_back(rest.substr(0, dot));
  }
  deferred_ops_.clear();
  row->translate(*this);
  for (const Op& op : std::vector<Op>(std::move(deferred_ops_))) emit_op(op);
}

void CodeBuilder::build_code() {
  lay_out_variables();
  for (const Instruction& i : function_.body) {
    first_op_indices_.push_back(uint32_t(kernel_code_.ops.size()));
    translate(i);
  }
  first_op_indices_.push_back(uint32_t(kernel_code_.ops.size()));
  kernel_code_.ops.push_back(
      {.run = end_handler(), .instruction = uint32_t(function_.body.empty() ? 0 : function_.body.size() - 1)});
  output_counts_.push_back(0);
  for (auto& [op, label] : label_jumps_)
    kernel_code_.ops[op].immediate = first_op_indices_[function_.labels.find(label)->second];
  for (size_t& target : kernel_code_.jump_targets) target = first_op_indices_[target];
  finish_kernel_code(kernel_code_, output_counts_, register_bits_);
}

}  // namespace tgc::ptx
