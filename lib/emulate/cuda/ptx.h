// A parsed PTX module, made by the parser and used by the translator. Names are views of Module::text.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/emulate/cuda/types.h"
#include "lib/support/result.h"

namespace tgc::ptx {

enum class Space : uint8_t { Generic, Global, Const, Shared, Local, Param };

struct Register {
  std::string_view name;
  Type type;
};

struct Operand {
  enum Kind : uint8_t {
    Reg,      // the register `reg`
    Integer,  // the integer `bits`
    Real,     // a floating-point number; `bits` are those of a double if is_double, else those of a float
    Name,     // `name` is a variable, label or special register; `bits` is the offset added to it
    Address,  // the memory address [reg + bits], [name + bits] or [bits]
    List,     // {a, b} or (a, b), with the elements `parts`
    Sink,     // "_": the result is discarded
  } kind = Sink;
  bool negated = false;  // true for a negated predicate, "!p"
  bool is_double = false;
  int32_t reg = -1;      // index in Function::registers
  int32_t second = -1;   // index of the register p of "d|p"; -1 if there is none
  uint64_t bits = 0;
  std::string_view name = {};
  std::vector<Operand> parts = {};
};

struct Instruction {
  uint32_t line = 0;         // line of the PTX
  uint32_t source_line = 0;  // line of the source that the PTX was compiled from; 0 if unknown
  int32_t guard = -1;        // index of the register p of "@p"; -1 if there is none
  bool guard_negated = false;
  std::string_view opcode;   // "ld.global.v4.f32"
  std::vector<Operand> operands = {};
};

struct Variable {
  std::string_view name;
  Space space;
  Type type;
  uint32_t line = 0;
  uint64_t bytes = 0;
  uint64_t align = 1;
  bool is_extern = false;
  uint64_t offset = 0;               // of a parameter: offset in the parameter block
  std::vector<std::byte> initial = {};
};

struct Function {
  std::string_view name;
  bool is_entry = false;
  uint32_t line = 0;
  std::vector<Variable> parameters = {};
  std::vector<Register> registers = {};
  std::vector<Instruction> body = {};
  std::map<std::string_view, uint32_t> labels = {};                          // index of the instruction after a label
  std::map<std::string_view, std::vector<std::string_view>> branch_targets = {};  // labels of each brx.idx table
  std::vector<Variable> locals = {};                                         // variables in .shared and .local
  uint64_t parameter_bytes = 0;
  std::array<uint64_t, 3> required_threads{};  // block size required by .reqntid; 0 without .reqntid
  uint64_t most_threads = 0;                   // maximum threads per block (product of .maxntid); 0 without .maxntid
};

struct Module {
  std::vector<char> text;               // not std::string: moving the module must not invalidate views
  std::string_view target;              // "sm_80"
  std::vector<std::string> files = {};  // file names by .file number
  std::deque<Function> functions = {};
  std::vector<Variable> globals = {};   // variables in .global, .const and .shared
};

// Parses a module. An error names the line and what was found there. Safe for untrusted text.
Result<Module> parse(std::string_view text);

}  // namespace tgc::ptx
