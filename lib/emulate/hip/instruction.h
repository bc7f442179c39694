// Instructions as LLVM's disassembler prints them, taken apart: an opcode, operands, modifiers. The text is the
// documented assembly language, so that it says which registers an instruction has without LLVM's own tables.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc::hip {

// Places in a wave's scalar file; up to 127 about as the hardware numbers them.
inline constexpr uint32_t kVcc = 106, kTtmp = 108, kM0 = 125, kExec = 126, kScc = 128, kTrash = 132, kConstants = 164;
// Vector registers: those of matrix accumulators follow the others; then what translations need for themselves.
inline constexpr uint32_t kAccumulators = 256, kScratch = 512, kVectors = 516;

struct Operand {
  enum Kind : uint8_t { Vector, Scalar, Integer, Float, Null, Off, Word } kind = Word;
  uint32_t place = 0, count = 1;  // of registers: the first, how many
  int64_t integer = 0;
  bool is_literal = false;  // of Integer: written in hexadecimal, not one of the constants within an instruction
  double number = 0;  // of Float
  bool negative = false, absolute = false, sign_extended = false;
  std::string_view text;

  bool is_register() const { return kind == Vector || kind == Scalar; }
};

struct Modifier {
  std::string_view name;
  std::vector<int64_t> values;  // of "op_sel:[0,1]"; of "offset:16" one; of "clamp" none
  std::string_view word;  // of "dst_sel:BYTE_1"
};

struct Instruction {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t source_line = 0;  // of the kernel's source, 0: unknown
  std::string_view text;  // all of it
  std::string_view opcode;  // "v_add_f32_e32"
  std::vector<Operand> operands;
  std::vector<Modifier> modifiers;

  const Modifier* modifier(std::string_view name) const;
  int64_t value(std::string_view name, int64_t otherwise = 0) const;  // of "offset:16"
  bool has(std::string_view name) const { return modifier(name) != nullptr; }
};

// Of the disassembly of a code object (LlvmEngine::disassemble), the instructions in [begin, end). They refer to the
// text. Of an instruction that issues two ("v_dual_... :: v_dual_...") there are two with one address, the first of
// which has no bytes. Throws Failure for bytes that are no instruction.
std::vector<Instruction> read_listing(std::string_view listing, uint64_t begin, uint64_t end);

// One instruction's text. Throws Failure.
Instruction parse_instruction(std::string_view text);

}  // namespace tgc::hip
