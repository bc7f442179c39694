// Translates PTX instructions to operations. While code is built, operands are register numbers; `allocate_registers`
// replaces them by byte offsets.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/emulate/cuda/code.h"

namespace tgc::ptx {

// The required width of a register operand. Exact: the width of its type; Wider: at least that width (ld, st, cvt).
enum class WidthRule : uint8_t { Exact, Wider };

class CodeBuilder {
 public:
  // `globals`: addresses of the module's .global and .const variables.
  CodeBuilder(TranslatedKernel& code, const std::map<std::string_view, uint64_t>& globals);
  // Translates the whole function. Throws Failure.
  void build_code();

  const Instruction& instruction() const { return *instruction_; }
  size_t num_operands() const { return instruction_->operands.size(); }
  const Operand& operand(size_t n) const { return instruction_->operands[n]; }
  void check_operand_count(size_t least, size_t most);
  void check_operand_count(size_t n) { check_operand_count(n, n); }
  [[noreturn]] void throw_error(const std::string& why, const std::string& expected = "") const;
  [[noreturn]] void throw_type_error(Type t, const std::string& expected = "") const;

  // ---- modifiers of the current instruction, consumed from left to right
  bool accept_modifier(std::string_view word);
  // If the next modifier is one of `words`, consumes it and returns its index; else returns `otherwise`.
  int accept_any_modifier(std::initializer_list<std::string_view> words, int otherwise = -1);
  std::optional<Type> accept_type();
  Type expect_type();
  void refuse_more_modifiers();

  uint32_t source_register(const Operand& o, Type type, WidthRule width = WidthRule::Exact);
  uint32_t source_register(size_t n, Type type, WidthRule width = WidthRule::Exact) {
    return source_register(operand(n), type, width);
  }
  uint32_t output_register(const Operand& o, Type type, WidthRule width = WidthRule::Exact);
  uint32_t output_register(size_t n, Type type, WidthRule width = WidthRule::Exact) {
    return output_register(operand(n), type, width);
  }
  uint32_t constant_register(uint64_t low, unsigned register_bits);
  uint32_t temporary_register(unsigned register_bits);
  uint32_t special_register(ptx::SpecialRegister special);
  uint32_t parameter_register(uint32_t offset, unsigned bytes);
  std::vector<uint32_t> source_registers(const Operand& list, size_t n, Type type, WidthRule width = WidthRule::Exact);
  std::vector<uint32_t> output_registers(const Operand& list, size_t n, Type type, WidthRule width = WidthRule::Exact);

  void emit_op(Op op);
  // Emits `op` with operand 0 as its destination, of type `result`, and the next ones as its sources a, b and c, of the
  // types `sources`. Throws Failure if a modifier is left, or if the operands do not match.
  void emit_value(Op op, Type result, std::initializer_list<Type> sources);
  // Emits an operation with more operands: it writes the registers `outs` and reads `ins`.
  void emit_op(Op op, std::span<const uint32_t> outs, std::span<const uint32_t> ins);
  void emit_jump(Op op, std::string_view label);  // emits a jump; Op::immediate becomes the index of the label's op
  // Emits a jump with op.immediate and op.num_more_operands set to the first index and the size of the table in
  // TranslatedKernel::jump_targets.
  void emit_table_jump(Op op, std::string_view table);

  TranslatedKernel& code() { return kernel_code_; }

  struct VariableAddress {
    Space space;
    uint64_t address;
  };
  VariableAddress variable(std::string_view name) const;
  const Variable* find_parameter(std::string_view name) const;

 private:
  void lay_out_variables();
  void translate(const Instruction& i);
  uint32_t register_of_name(const Operand& o, Type type);
  const Register& check_register(int32_t reg, Type type, WidthRule width) const;
  const std::vector<Operand>& operand_parts(const Operand& list, size_t n, const std::string& what) const;
  uint32_t new_register(unsigned bits);

  TranslatedKernel& kernel_code_;
  const Function& function_;
  const Instruction* instruction_ = nullptr;
  std::vector<std::string_view> modifiers_;
  size_t next_modifier_ = 0;
  std::vector<unsigned> register_bits_;
  std::map<std::pair<uint64_t, unsigned>, uint32_t> constant_registers_;
  std::map<ptx::SpecialRegister, uint32_t> special_registers_;
  std::map<std::pair<uint32_t, unsigned>, uint32_t> parameter_registers_;
  std::map<std::string_view, VariableAddress> variables_;
  std::vector<Op> deferred_ops_;  // conversions of the current instruction's results to wider destinations
  std::vector<uint32_t> first_op_indices_;
  std::vector<std::pair<size_t, std::string_view>> label_jumps_;  // index of the jump's op; target label
  std::vector<uint8_t> output_counts_;  // for each op, the number of its more_operands that it writes
};

// ---- instruction families; `opcode` is an instruction's name up to the first dot
struct OpcodeRow {
  std::string_view opcode;
  void (*translate)(CodeBuilder&);
};
std::span<const OpcodeRow> arithmetic_opcode_rows();
std::span<const OpcodeRow> bit_opcode_rows();
std::span<const OpcodeRow> float_opcode_rows();
std::span<const OpcodeRow> compare_opcode_rows();
std::span<const OpcodeRow> convert_opcode_rows();
std::span<const OpcodeRow> memory_opcode_rows();
std::span<const OpcodeRow> atomic_opcode_rows();
std::span<const OpcodeRow> control_opcode_rows();
std::span<const OpcodeRow> warp_opcode_rows();
std::span<const OpcodeRow> mma_opcode_rows();

// Return the function that converts a register of `from` bits to one of `to` bits.
OpFunction narrowing_handler(unsigned from, unsigned to);
OpFunction widening_handler(unsigned from, unsigned to, bool is_signed);

// Return the Op::run of the control operations (ops_control.cpp), by which flow analysis recognizes them.
OpFunction jump_handler();
OpFunction table_jump_handler();
OpFunction join_handler();
OpFunction end_handler();

struct ControlFlow {
  struct BasicBlock {
    uint32_t begin, end;
    std::vector<uint32_t> successors;
    bool may_return = false;           // lanes may return at the block's end
    uint32_t post_dominator = kNoIndex;  // the block where diverged lanes reconverge; kNoIndex: none
  };
  std::vector<BasicBlock> blocks;
  std::vector<uint32_t> block_index_of_op;

  static ControlFlow analyze_code(const TranslatedKernel& code);
};

// Inserts a join op before each block where diverged lanes reconverge, and sets Op::join_op of the jumps.
void add_joins(TranslatedKernel& code, std::vector<uint8_t>& outs);

// Replaces register numbers by byte offsets in the warp's register file. Registers that are never live at the same time
// can share a slot. `bits[r]`: the width of register r; `outs[i]`: how many of its more_operands op i writes. Throws
// Failure if the file would exceed 64 MiB.
void allocate_registers(TranslatedKernel& code, const std::vector<uint8_t>& outs, const std::vector<unsigned>& bits);

inline void finish_kernel_code(TranslatedKernel& code, std::vector<uint8_t>& outs, const std::vector<unsigned>& bits) {
  add_joins(code, outs);
  allocate_registers(code, outs, bits);
}

}  // namespace tgc::ptx
