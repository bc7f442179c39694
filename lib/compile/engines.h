// Interfaces of lib/compile's shared objects, which are loaded on first use. They do not expose LLVM types.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct MachineSpec {
  std::string triple;    // such as "x86_64-none-unknown-elf"
  std::string cpu;       // "native": this computer's CPU with all its features
  std::string cpu_features;  // such as "+cumode", added to the CPU's own features
};

enum class OutputForm : uint8_t { Ir, Assembly, Object };

struct CompilerError {
  std::string message;
  uint32_t line = 0, column = 0;
};
// From `offset`, a byte offset in the object's .text, machine code belongs to `line`.
struct CodeLine {
  uint64_t offset = 0;
  uint32_t line = 0;  // 0: no source line
};
template <class T>
struct EngineResult {
  T value{};
  bool ok = false;
  CompilerError compiler_error;
};

struct PassPlan {
  int64_t max_passes = -1;             // how many of LLVM's optional passes run; -1: all
  std::string wrong_pass;              // a fault of kLlvmFaults (compile.h); empty: none
  bool lists_passes = false;           // return the list of passes, one per line, instead of the compiled code
  bool runs_only_fast_passes = false;  // for huge sources; also generates code as -O0 does
};

class LlvmEngine {
 public:
  virtual ~LlvmEngine() = default;
  // Optimizes LLVM IR like `opt -O2`, as `plan` asks, and compiles it to `form`. With `lines`, debug information maps
  // code to lines of `text`.
  virtual EngineResult<std::string> compile(std::string_view text, const MachineSpec& machine, OutputForm form,
                                            bool lines, const PassPlan& plan = {}) = 0;
  // Returns address, bytes and text of each instruction of an object or code object.
  virtual EngineResult<std::string> disassemble_object(std::string_view object, const MachineSpec& machine) = 0;
  virtual std::string version() const = 0;
};

class LldEngine {
 public:
  virtual ~LldEngine() = default;
  // Links a relocatable AMDGPU object into a code object: a shared ELF that the driver loads.
  virtual EngineResult<std::string> link_code_object(std::string_view object) = 0;
  virtual std::string version() const = 0;
};

class ClangEngine {
 public:
  virtual ~ClangEngine() = default;
  // `arguments` are those of the clang command, without options for input and output. `file` is the source's name in
  // messages.
  virtual EngineResult<std::string> compile(std::string_view source, const std::string& file,
                                            const std::vector<std::string>& arguments, OutputForm form) = 0;
  // Reads the line table of an object's .text from its debug information, ordered by address.
  virtual EngineResult<std::vector<CodeLine>> code_lines(std::string_view object) = 0;
  virtual std::string version() const = 0;
};

// Each function loads its engine on first use. Its error says what is missing.
Result<LlvmEngine*> llvm_engine();
Result<LldEngine*> lld_engine();
Result<ClangEngine*> clang_engine();

}  // namespace tgc
