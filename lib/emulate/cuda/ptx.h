// A parsed PTX module. Names are views of Module::text.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc::ptx {

enum class TypeKind : uint8_t { Bits, Unsigned, Signed, Float, BFloat, Tf32, E4m3, E5m2, Pred };

// calls X(name, PTX text, kind, bits per element, number of elements)
#define TGC_PTX_TYPES(X)                                                                                              \
  X(B8, "b8", Bits, 8, 1)                                                                                             \
  X(B16, "b16", Bits, 16, 1)                                                                                          \
  X(B32, "b32", Bits, 32, 1) X(B64, "b64", Bits, 64, 1) X(B128, "b128", Bits, 128, 1) X(U8, "u8", Unsigned, 8, 1)     \
      X(U16, "u16", Unsigned, 16, 1) X(U32, "u32", Unsigned, 32, 1) X(U64, "u64", Unsigned, 64, 1)                    \
          X(S8, "s8", Signed, 8, 1) X(S16, "s16", Signed, 16, 1) X(S32, "s32", Signed, 32, 1)                         \
              X(S64, "s64", Signed, 64, 1) X(F16, "f16", Float, 16, 1) X(F16x2, "f16x2", Float, 16, 2)                \
                  X(F32, "f32", Float, 32, 1) X(F64, "f64", Float, 64, 1) X(BF16, "bf16", BFloat, 16, 1)              \
                      X(BF16x2, "bf16x2", BFloat, 16, 2) X(TF32, "tf32", Tf32, 32, 1) X(E4M3, "e4m3", E4m3, 8, 1)     \
                          X(E5M2, "e5m2", E5m2, 8, 1) X(E4M3x2, "e4m3x2", E4m3, 8, 2) X(E5M2x2, "e5m2x2", E5m2, 8, 2) \
                              X(Pred, "pred", Pred, 1, 1)

enum class Type : uint8_t {
#define X(name, text, kind, bits, count) name,
  TGC_PTX_TYPES(X)
#undef X
};

struct TypeInfo {
  std::string_view ptx_name;
  TypeKind type_kind;
  uint8_t element_bits, count;
};
inline constexpr TypeInfo kTypes[] = {
#define X(name, text, kind, bits, count) {text, TypeKind::kind, bits, count},
    TGC_PTX_TYPES(X)
#undef X
};

inline constexpr const TypeInfo& info_of_type(Type t) { return kTypes[size_t(t)]; }
inline constexpr std::string_view ptx_name(Type t) { return info_of_type(t).ptx_name; }
inline constexpr TypeKind type_kind(Type t) { return info_of_type(t).type_kind; }
inline constexpr unsigned bits(Type t) { return unsigned(info_of_type(t).element_bits) * info_of_type(t).count; }
// The bits of the smallest register that holds a value of the type.
inline constexpr unsigned register_bits(Type t) { return bits(t) == 8 ? 16 : bits(t); }
inline constexpr bool is_signed(Type t) { return type_kind(t) == TypeKind::Signed; }
inline constexpr bool is_integer(Type t) { return type_kind(t) <= TypeKind::Signed; }

inline std::optional<Type> find_type(std::string_view word) {
  for (size_t i = 0; i < std::size(kTypes); i++)
    if (kTypes[i].ptx_name == word) return Type(i);
  return std::nullopt;
}

enum class Space : uint8_t { Generic, Global, Const, Shared, Local, Param };

struct Register {
  std::string_view name;
  Type type;
};

struct Operand {
  enum Kind : uint8_t {
    Reg,
    Integer,
    Real,     // `bits` are those of a double if is_double, else of a float
    Name,     // a variable, label or special register; `bits` is the offset added to it
    Address,  // the memory address [reg + bits], [name + bits] or [bits]
    List,     // the list {a, b} or (a, b)
    Sink,     // "_": the result is discarded
  } kind = Sink;
  bool is_negated = false;  // true for "!p"
  bool is_double = false;
  int32_t reg = -1;
  int32_t second_register = -1;  // index of the predicate p of "d|p"; -1 if there is none
  uint64_t bits = 0;
  std::string_view name = {};
  std::vector<Operand> parts = {};
};

struct Instruction {
  uint32_t line = 0;
  uint32_t source_line = 0;  // line of the source that the PTX was compiled from; 0 if unknown
  int32_t guard = -1;        // index of the predicate of "@p"; -1 if there is none
  bool is_guard_negated = false;
  std::string_view opcode;   // such as "ld.global.v4.f32"
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
  uint64_t offset = 0;               // for a parameter: its offset in the parameter block
  std::vector<std::byte> initial_bytes = {};
};

struct Function {
  std::string_view name;
  bool is_entry = false;
  uint32_t line = 0;
  std::vector<Variable> parameters = {};
  std::vector<Register> registers = {};
  std::vector<Instruction> body = {};
  std::map<std::string_view, uint32_t> labels = {};                          // index of the instruction after the label
  std::map<std::string_view, std::vector<std::string_view>> branch_targets = {};
  std::vector<Variable> locals = {};
  uint64_t parameter_bytes = 0;
  std::array<uint64_t, 3> required_threads{};  // block size required by .reqntid; 0 without it
  uint64_t max_threads = 0;                    // product of .maxntid; 0 without it
};

struct Module {
  std::vector<char> text;                    // not std::string: moving the module must not invalidate views
  std::string_view target;
  std::vector<std::string> file_names = {};  // indexed by .file number
  std::deque<Function> functions = {};
  std::vector<Variable> globals = {};
};

// Parses a module; safe for untrusted text. An error names a line.
Result<Module> parse_ptx(std::string_view text);

}  // namespace tgc::ptx
