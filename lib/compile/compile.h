// Compiles sources of kernels (C, LLVM IR, CUDA, HIP, OpenCL, PTX and Metal text) to optimized IR, assembly and machine
// code. Where tinygrad has the same compiler, the flags follow its runtime/support/compiler_*.py.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// Metal is compiled for its CPU emulator (metal/).
enum class Language : uint8_t { C, LlvmIr, Cuda, Hip, OpenCl, Ptx, Metal };
std::string_view name_of(Language language);

enum class Artifact : uint8_t {
  LlvmIr,       // the module after optimization, as text
  Assembly,     // for CUDA and PTX sources: PTX
  // CPU: relocatable ELF object. AMD: code object (shared ELF). CUDA and PTX: PTX for the driver. OpenCL: the
  // platform's binary. Metal: see metal/metal.h
  Binary,
  Cubin,        // NVIDIA machine code (ELF), made by ptxas; CUDA and PTX sources only
  Sass,         // disassembly of the cubin, as text; needs nvdisasm or cuobjdump
  Disassembly,  // CPU and AMD binaries as text
  Passes,       // C and LLVM IR: the optional LLVM passes in the order in which they run, one per line: NAME\tUNIT
  Resources,    // the report that resources_of_job() reads (resources.h): assembly, or ptxas's log
};
std::string_view name_of(Artifact artifact);

struct CompileJob {
  Language language = Language::C;
  std::string machine;   // for CPUs and AMD GPUs: "x86_64", "aarch64", "amdgcn"; empty: this computer's machine
  // GPU: "sm_80", "gfx1100"; CPU: LLVM's name ("skylake-avx512"); empty: this computer's CPU, or a generic CPU of
  // another machine
  std::string arch;
  std::string source;
  std::string name;              // for listings, messages and file names
  bool annotates_lines = false;
  double timeout_seconds = 120;

  // ---- for C and LLVM IR: options for bisecting compiler bugs
  // Run only this many of LLVM's optional passes, including those of code generation, counted as -opt-bisect-limit
  // counts them; -1: all.
  int64_t max_passes = -1;
  bool uses_other_compiler = false;  // LLVM IR by clang; C by clang to IR, then by LLVM unless llvm_fault is set
  std::string llvm_fault;            // a name in kLlvmFaults, or empty
};

// Faults that TGC_FAULT=llvm:NAME seeds into LLVM. Most are optimization passes that make wrong code. "intrinsic"
// replaces sqrt with fabs before any pass runs, and "wide-slp" brings back a bug of LLVM 19 that shows on some
// computers with AVX-512.
inline constexpr std::string_view kLlvmFaults[] = {"subtract", "compare",   "select",  "constant",
                                                   "xor",      "intrinsic", "wide-slp"};

// Returns the job for a target, without source and name. ("CPU", "CLANG", "") is C for this computer. Fails for targets
// whose sources tgc cannot compile, such as Metal and WGSL.
Result<CompileJob> make_compile_job(std::string_view device, std::string_view renderer, std::string_view arch);

// Compiles a job through the cache; binaries of OpenCL platforms are not cached. If the source does not compile, the
// Diag has the compiler's message and, where possible, the offending line and the file in which the source was kept.
Result<std::string> compile(const CompileJob& job, Artifact what);
Result<std::string> compile_without_cache(const CompileJob& job, Artifact what);

struct CompilerInfo {
  std::string name;
  std::string compiled_targets;  // such as "LLVM IR for CPUs and AMD GPUs"
  bool is_available = false;
  std::string version;  // the version, or what is missing
};
std::vector<CompilerInfo> list_compilers();

}  // namespace tgc
