// Compiles rendered sources (C, LLVM IR, CUDA, HIP, OpenCL, PTX and Metal text) to optimized IR, assembly and machine
// code for the CPUs and GPUs that tgc targets. Takes text and returns bytes; does not depend on UOp graphs. Where
// tinygrad has the same compiler, the flags are those of its runtime/support/compiler_*.py.
//
// LLVM, clang and lld live in tgc's own shared objects (engines.h), which are loaded on first use. Results served from
// the cache load none of them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// The language of a source. Metal is compiled for its CPU emulator only (metal/).
enum class Language : uint8_t { C, LlvmIr, Cuda, Hip, OpenCl, Ptx, Metal };
std::string_view name_of(Language language);  // returns "CUDA" for Cuda

// The output of a compilation.
enum class Artifact : uint8_t {
  LlvmIr,       // the module after optimization, as text; all languages except PTX and Metal
  Assembly,     // text: assembly of the target machine; for CUDA and PTX sources, PTX
  Binary,       // CPU: relocatable ELF object. AMD: code object (shared ELF). CUDA and PTX: PTX for the driver. OpenCL:
                // the platform's binary. Metal: see metal/metal.h
  Cubin,        // NVIDIA machine code (ELF), made by ptxas; CUDA and PTX sources only
  Sass,         // disassembly of the cubin, as text; needs nvdisasm or cuobjdump
  Disassembly,  // CPU and AMD binaries as text: address, bytes and text of each instruction
  Passes,       // C and LLVM IR: the optional LLVM passes in the order in which they run, one per line: NAME\tUNIT
  Resources,    // the report that resources_of() reads (resources.h): assembly, or ptxas's log
};
std::string_view name_of(Artifact artifact);  // returns "asm" for Assembly

struct CompileJob {
  Language language = Language::C;
  std::string machine;   // for CPUs and AMD GPUs: "x86_64", "aarch64", "amdgcn"; empty: this computer's machine
  // GPU: "sm_80", "gfx1100"; CPU: LLVM's name ("skylake-avx512"); empty: this computer's CPU with all its features, or
  // a generic CPU of another machine
  std::string arch;
  std::string source;
  std::string name;              // the kernel's name, for listings, messages and the file that keeps a rejected source
  bool annotates_lines = false;  // annotate assembly with the source line of each instruction
  double timeout_seconds = 120;  // time limit for the compiler

  // ---- for C and LLVM IR: options for bisecting compiler bugs
  // Run only this many of LLVM's optional passes, including those of code generation, counted as -opt-bisect-limit
  // counts them; -1: all. With a limit, clang compiles C to unoptimized LLVM IR, and LLVM compiles that.
  int64_t max_passes = -1;
  bool uses_other_compiler = false;  // swap the compilers: compile LLVM IR by clang, and C by clang to IR, then by LLVM
  std::string llvm_fault;            // one of kLlvmFaults, or empty
};

// Faults that TGC_FAULT=llvm:NAME seeds into LLVM. Each fault is an optimization pass that makes wrong code, except
// two: "intrinsic" replaces sqrt with fabs before any pass runs, and "wide-slp" brings back a bug of LLVM 19 that shows
// on some computers with AVX-512.
inline constexpr std::string_view kLlvmFaults[] = {"subtract", "compare",   "select",  "constant",
                                                   "xor",      "intrinsic", "wide-slp"};

// Returns the job for a target, without source and name. `device`, `renderer` and `arch` are a Target's: ("CPU",
// "CLANG", "") is C for this computer. Returns an error for targets whose sources tgc cannot compile, such as Metal and
// WGSL.
Result<CompileJob> compile_job(std::string_view device, std::string_view renderer, std::string_view arch);

// Compiles a job through the cache; binaries of OpenCL platforms are not cached. If the source does not compile, the
// Diag has the compiler's message, the offending line, and the file in which the source was kept. If a compiler is
// missing, the Diag says what to install.
Result<std::string> compile(const CompileJob& job, Artifact what);
// Compiles a job without the cache.
Result<std::string> compile_uncached(const CompileJob& job, Artifact what);

// A compiler or tool that lib/compile can use.
struct CompilerInfo {
  std::string name;              // "LLVM", "NVRTC", "ptxas"
  std::string compiled_targets;  // what it compiles: "LLVM IR for CPUs and AMD GPUs"
  bool is_available = false;
  std::string version;   // the version, or what is missing if it does not work
};
std::vector<CompilerInfo> compilers();

}  // namespace tgc
