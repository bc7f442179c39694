// Interfaces of lib/compile's shared objects: libtgc_llvm.so (the parts of LLVM that compile kernels, linked
// statically; loads in a few milliseconds), libtgc_lld.so and libtgc_clang.so (linked with all of LLVM: 20 ms, 60 MB).
// They are loaded on first use. The interfaces do not expose LLVM types.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// A target machine in LLVM's terms.
struct Machine {
  std::string triple;    // "x86_64-none-unknown-elf"
  std::string cpu;       // "gfx1100"; "native": this computer's CPU with all its features
  std::string features;  // "+cumode", added to the CPU's own features
};

// The form in which an engine returns compiled code.
enum class Form : uint8_t { Ir, Assembly, Object };

// A compiler's error: its message, and its position in the source (0 if unknown).
struct CompilerError {
  std::string message;  // the text of the error or errors
  uint32_t line = 0, column = 0;
};
// Maps machine code to source: from `offset`, a byte offset in the object's .text, the code belongs to `line`.
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

// Which of LLVM's optional passes run.
struct PassPlan {
  int64_t max_passes = -1;             // number of passes to run, in the order of execution; -1: all
  std::string wrong_pass;              // a fault of kLlvmFaults (compile.h), such as a wrong pass to add; empty: none
  bool lists_passes = false;           // return the list of passes, one per line, instead of the compiled code
  bool runs_only_fast_passes = false;  // run only passes that are fast for huge sources, and generate code as -O0 does
};

class LlvmEngine {
 public:
  virtual ~LlvmEngine() = default;
  // Optimizes LLVM IR like `opt -O2`; compiles it to `form`. With `lines`, debug information maps code to lines of
  // `text`.
  virtual EngineResult<std::string> compile(std::string_view text, const Machine& machine, Form form, bool lines,
                                    const PassPlan& plan = {}) = 0;
  // Disassembles an object or code object of `machine`: address, bytes and text of each instruction.
  virtual EngineResult<std::string> disassemble(std::string_view object, const Machine& machine) = 0;
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
  // Compiles `source`. `arguments` are those of the clang command, without options for input and output. `file` is the
  // source's name in messages.
  virtual EngineResult<std::string> compile(std::string_view source, const std::string& file,
                                    const std::vector<std::string>& arguments, Form form) = 0;
  // Reads the line table of an object's .text from its debug information, ordered by address.
  virtual EngineResult<std::vector<CodeLine>> code_lines(std::string_view object) = 0;
  virtual std::string version() const = 0;
};

// Each function loads its engine on first use and returns it. Its error says what is missing.
Result<LlvmEngine*> llvm_engine();
Result<LldEngine*> lld_engine();
Result<ClangEngine*> clang_engine();

}  // namespace tgc
