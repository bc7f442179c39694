// Parses the text of instructions that LLVM's disassembler prints.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc::hip {

// Indices of special registers in a wave's scalar register file. Up to kExec, they are gfx11's register numbers.
inline constexpr uint32_t kVcc = 106, kTtmp = 108, kM0 = 125, kExec = 126, kScc = 128, kDiscardRegister = 132,
                          kFirstConstant = 164;
// In the vector register file: index of the first matrix accumulator (AGPR), index of the first scratch register, size.
inline constexpr uint32_t kFirstAccumulator = 256, kFirstScratch = 512, kVectorFileSize = 516;

struct Operand {
  enum Kind : uint8_t { Vector, Scalar, Integer, Float, Null, Off, Word } kind = Word;
  uint32_t register_index = 0, count = 1;  // registers from index `register_index` on
  int64_t integer = 0;
  bool is_literal = false;  // an Integer that is printed in hexadecimal, so not an inline constant
  double float_value = 0;
  bool is_negative = false, is_absolute = false, is_sign_extended = false;
  std::string_view text;

  bool is_register() const { return kind == Vector || kind == Scalar; }
};

struct OpcodeModifier {
  std::string_view name;
  std::vector<int64_t> values;  // two numbers for "op_sel:[0,1]", one for "offset:16", none for "clamp"
  std::string_view text_value;  // such as "BYTE_1" of "dst_sel:BYTE_1"
};

struct Instruction {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t source_line = 0;  // line of the kernel's source; 0 if unknown
  std::string_view text;
  std::string_view opcode;
  std::vector<Operand> operands;
  std::vector<OpcodeModifier> modifiers;

  const OpcodeModifier* modifier(std::string_view name) const;
  // Returns the modifier's first number; `otherwise` if the instruction lacks the modifier.
  int64_t modifier_value(std::string_view name, int64_t otherwise = 0) const;
  bool has_modifier(std::string_view name) const { return modifier(name) != nullptr; }
};

// Parses the instructions at the addresses [begin, end) of a code object's disassembly (LlvmEngine::disassemble). The
// results hold views of `listing`. A dual-issue instruction ("v_dual_... :: v_dual_...") gives two entries with the
// same address, the first with 0 bytes. Throws Failure for bytes that are not an instruction.
std::vector<Instruction> read_listing(std::string_view listing, uint64_t begin, uint64_t end);

// Parses one instruction. Throws Failure if the text is empty.
Instruction parse_instruction(std::string_view text);

}  // namespace tgc::hip
