// Compilation of rendered sources: C, LLVM IR, CUDA, HIP, OpenCL and PTX text to optimized IR, assembly and machine
// code, for the CPUs and GPUs that tgc targets. Takes text and gives bytes; knows no graph. The flags are those of
// tinygrad's runtime/support/compiler_*.py.
//
// LLVM, clang and lld live in shared objects of our own (engines.h), loaded when first needed: including this header or
// calling anything that the cache serves costs nothing of it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

class LoadedCode;  // load.h

// What a source is written in.
enum class Language : uint8_t { C, LlvmIr, Cuda, Hip, OpenCl, Ptx, Metal };  // Metal: for its emulator (metal/)
std::string_view name_of(Language language);  // "CUDA"

// What to make of it.
enum class Artifact : uint8_t {
  LlvmIr,    // the module after optimization, as text; of all but PTX
  Assembly,  // text: of the machine; of CUDA and PTX sources PTX
  Binary,    // CPU: a relocatable ELF object; AMD: a code object (shared ELF); CUDA and PTX: PTX as the driver takes it
  Cubin,     // NVIDIA's machine code (ELF), by ptxas; of CUDA and PTX sources
  Sass,      // the same disassembled; needs nvdisasm or cuobjdump
  Disassembly,  // the binary of a CPU or an AMD GPU as text: place, bytes and text of each instruction
  Passes,    // of C and LLVM IR: LLVM's optional passes as they run, a line each: NAME\tWHAT IT RAN ON
};
std::string_view name_of(Artifact artifact);  // "asm"

struct CompileJob {
  Language language = Language::C;
  std::string machine;   // of C, OpenCL and LLVM IR: "x86_64", "aarch64", "amdgcn"; empty: this computer's
  // "sm_80", "gfx1100"; of a CPU its name as LLVM knows it ("skylake-avx512"); empty: this very CPU with all it has
  std::string arch;
  std::string source;
  std::string name;      // the kernel's, for listings and for the file where a source that does not compile is kept
  bool lines = false;    // assembly with the source line that each instruction came from
  double timeout_seconds = 600;  // that a compiler may take

  // ---- of C and LLVM IR, for whoever looks for the compiler's mistake
  // of LLVM's optional passes only the first so many run, code generation's included, counted as -opt-bisect-limit
  // does; -1: all. C is then compiled in two steps: to LLVM IR by clang, and that by LLVM
  int64_t passes = -1;
  bool by_other = false;  // LLVM IR by clang's LLVM, C in those two steps
  std::string fault;      // one of kLlvmFaults
};

// Faults on demand in LLVM, TGC_FAULT=llvm:NAME: each a pass that does wrong, but two. With "intrinsic" sqrt is taken
// for fabs, whatever passes run; "wide-slp" is a mistake of LLVM 19 itself, on some computers with AVX-512.
inline constexpr std::string_view kLlvmFaults[] = {"subtract", "compare",   "select",  "constant",
                                                   "xor",      "intrinsic", "wide-slp"};

// Where a target's source goes, without source and name. `device`, `renderer` and `arch` are a Target's: ("CPU",
// "CLANG", "") is C for this computer. An error for targets whose source has no compiler here by nature (Metal away
// from macOS, WGSL).
Result<CompileJob> compile_job(std::string_view device, std::string_view renderer, std::string_view arch);

// Compiles, through the cache. A source that does not compile gives a Diag with the compiler's message, the offending
// line, and the file where the source was kept; a missing compiler one that says what to install.
Result<std::string> compile(const CompileJob& job, Artifact what);
// The same without the cache.
Result<std::string> compile_uncached(const CompileJob& job, Artifact what);

// Compiles a C or LLVM IR job for this computer and puts it into memory, ready to call.
// Keep what is returned while it may run.
Result<std::shared_ptr<const LoadedCode>> load_code(const CompileJob& job);

// A compiler or tool that this library can use.
struct CompilerInfo {
  std::string name;      // "LLVM", "NVRTC", "ptxas"
  std::string serves;    // "CPU:LLVM, AMD:LLVM"
  bool works = false;
  std::string version;   // or, when it does not work, what is missing
};
std::vector<CompilerInfo> compilers();

}  // namespace tgc
