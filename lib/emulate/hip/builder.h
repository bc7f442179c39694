// Translates instructions to operations: the table of opcodes, and the CodeBuilder that decodes operands and modifiers.
#pragma once
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "lib/emulate/hip/code.h"

namespace tgc::hip {

using u16 = uint16_t;
using i16 = int16_t;
using u32 = uint32_t;
using i32 = int32_t;
using u64 = uint64_t;
using i64 = int64_t;

struct HalfFloat {  // a value of type half, stored as float
  float value;
  HalfFloat() = default;
  HalfFloat(float v) : value(v) {}
  operator float() const { return value; }
};

// The value type of an operand. Mask: one bit per lane; Scc: the scalar condition code.
enum class Type : uint8_t { None, Mask, Scc, U16, I16, F16, U32, I32, F32, U64, I64, F64 };
template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, void>) return Type::None;
  else if constexpr (std::is_same_v<T, bool>) return Type::Mask;
  else if constexpr (std::is_same_v<T, HalfFloat>) return Type::F16;
  else if constexpr (std::is_same_v<T, float>) return Type::F32;
  else if constexpr (std::is_same_v<T, double>) return Type::F64;
  else if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? Type::I16 : Type::U16;
  else if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? Type::I32 : Type::U32;
  else return std::is_signed_v<T> ? Type::I64 : Type::U64;
}
constexpr uint32_t num_words_of_type(Type t) { return t >= Type::U64 ? 2 : 1; }
constexpr bool is_16_bit(Type t) { return t >= Type::U16 && t <= Type::F16; }
constexpr bool is_float(Type t) { return t == Type::F16 || t == Type::F32 || t == Type::F64; }

class CodeBuilder;
using BuildFunction = void (*)(CodeBuilder&);

// A row of the opcode table: how an instruction is translated to operations.
struct OpcodeRow {
  OpFunction run_op = nullptr;
  Type to = Type::None;
  Type from[4] = {};
  // number of operands in `from`, or a parameter of `build_ops`
  uint8_t count = 0;
  bool is_vector = false;
  BuildFunction build_ops = nullptr;  // builds the operations instead of build_by_types
};
using OpcodeTable = std::unordered_map<std::string, OpcodeRow>;

// Returns the table of all opcodes. add_row adds `row` under each of `names`, which blanks separate.
const OpcodeTable& opcode_table();
void add_row(OpcodeTable& to, std::string_view names, OpcodeRow row);
void add_scalar_rows(OpcodeTable& to);
void add_scalar_float_rows(OpcodeTable& to);
void add_integer_rows(OpcodeTable& to);
void add_bit_rows(OpcodeTable& to);
void add_float_rows(OpcodeTable& to);
void add_convert_rows(OpcodeTable& to);
void add_compare_rows(OpcodeTable& to);
void add_lane_rows(OpcodeTable& to);
void add_packed_rows(OpcodeTable& to);
void add_memory_rows(OpcodeTable& to);
void add_matrix_rows(OpcodeTable& to);
void add_control_rows(OpcodeTable& to);
void add_atomic_rows(OpcodeTable& to);
void add_permutation_rows(OpcodeTable& to);

class CodeBuilder {
 public:
  explicit CodeBuilder(TranslatedKernel& code) : code(code) {}
  void build_ops();

  // ---- members for the `build_ops` functions of rows
  TranslatedKernel& code;
  const Instruction* instruction = nullptr;
  std::string_view name;  // name of `row`: "v_add_f32" for the opcode "v_add_f32_e32"
  const OpcodeRow* row = nullptr;

  [[noreturn]] void throw_error(const std::string& why) const;
  size_t num_operands() const { return instruction->operands.size(); }
  const Operand& operand(size_t n) const;
  // Returns the register file index of an operand of `words` registers; throws Failure for another operand.
  // scalar_register() returns kDiscardRegister for the operand `null`. A lane mask has one register per half of the
  // wave.
  uint16_t vector_register(const Operand& o, uint32_t words) const;
  uint16_t scalar_register(const Operand& o, uint32_t words) const;
  uint16_t mask_register(const Operand& o) const { return scalar_register(o, code.num_halves); }
  SourceOperand source_operand(const Operand& o, Type type);
  SourceOperand constant_operand(uint64_t value, uint32_t words);
  SourceOperand scratch_source(uint32_t n, RegisterPart part = RegisterPart::Whole) const;

  // Returns a new operation with the output modifiers (clamp, mul, div) of the current instruction.
  Op make_op(OpFunction run, bool is_vector = true) const;
  void emit_op(const Op& op) { code.ops.push_back(op); }
  void build_by_types();
  void allow_modifiers(std::initializer_list<std::string_view> modifiers) const;

 private:
  void go_to_instruction(uint32_t n) { instruction_number_ = n, instruction = &code.instructions[n]; }
  void build_instruction();
  void build_dpp();
  void build_pair(uint32_t first);
  void build_sdwa(Op& op, Type to);

  uint32_t instruction_number_ = 0;
};

}  // namespace tgc::hip
