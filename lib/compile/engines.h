// What the shared objects of lib/compile offer: libtgc_llvm.so (of LLVM what compiles kernels, linked in: it loads in a
// few milliseconds), libtgc_lld.so and libtgc_clang.so (with the whole of LLVM, 20 ms and 100 MB). They are loaded when
// first needed. Nothing of LLVM is in these types.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// A machine as LLVM names it.
struct Machine {
  std::string triple;    // "x86_64-none-unknown-elf"
  std::string cpu;       // "gfx1100"; "native": this computer's, with all its features
  std::string features;  // "+cumode", besides the CPU's own
};

// The form of what a compiler makes.
enum class Form : uint8_t { Ir, Assembly, Object };

// A compiler's complaint: where in the source, and the whole text of what it said.
struct Complaint {
  std::string message;  // of the first error
  uint32_t line = 0, column = 0;
};
// Where the machine code of a line begins, from the beginning of the object's .text on.
struct CodeLine {
  uint64_t at = 0;
  uint32_t line = 0;  // 0: of none
};
template <class T>
struct Made {
  T value{};
  bool ok = false;
  Complaint complaint;
};

// Which of LLVM's optional passes run.
struct PassPlan {
  int64_t most = -1;      // the first so many; -1: all
  std::string fault;      // a pass that does wrong (compile.h, kLlvmFaults); empty: none
  bool is_list = false;   // what is made is the list of the passes, a line each
  bool is_plain() const { return most < 0 && fault.empty() && !is_list; }
};

class LlvmEngine {
 public:
  virtual ~LlvmEngine() = default;
  // LLVM IR text, optimized as `opt -O2` does, in that form. With `lines`,
  // instructions carry the line of the text they came from.
  virtual Made<std::string> compile(std::string_view text, const Machine& machine, Form form, bool lines,
                                    const PassPlan& plan = {}) = 0;
  // An object, or a code object, of that machine as text: place, bytes and text of each instruction.
  virtual Made<std::string> disassemble(std::string_view object, const Machine& machine) = 0;
  virtual std::string version() const = 0;
};

class LldEngine {
 public:
  virtual ~LldEngine() = default;
  // A relocatable AMDGPU object as a code object: a shared ELF that the driver loads.
  virtual Made<std::string> link_code_object(std::string_view object) = 0;
  virtual std::string version() const = 0;
};

class ClangEngine {
 public:
  virtual ~ClangEngine() = default;
  // `arguments` are those of the clang command, without the input and the output. `file` names the source in messages.
  virtual Made<std::string> compile(std::string_view source, const std::string& file,
                                    const std::vector<std::string>& arguments, Form form) = 0;
  // Which line the instructions of an object's .text come of, by its debug information, in the order of their places.
  virtual Made<std::vector<CodeLine>> lines(std::string_view object) = 0;
  virtual std::string version() const = 0;
};

// The engines, loaded when first asked for; an error says what is missing.
Result<LlvmEngine*> llvm_engine();
Result<LldEngine*> lld_engine();
Result<ClangEngine*> clang_engine();

// What the shared objects export.
inline constexpr const char* kLlvmEngineSymbol = "tgc_llvm_engine";
inline constexpr const char* kLldEngineSymbol = "tgc_lld_engine";
inline constexpr const char* kClangEngineSymbol = "tgc_clang_engine";

}  // namespace tgc
