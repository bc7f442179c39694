// Compiler backends behind compile(). They throw RejectedSource if the compiler fails on the source, and another
// Failure if a compiler or library is missing.
#pragma once
#include "lib/compile/compile.h"
#include "lib/compile/engines.h"

namespace tgc {

// Thrown when the compiler fails on the source, or a check before it rejects the source.
class RejectedSource : public Failure {
 public:
  using Failure::Failure;
};

// clang option: debug line tables record "." as the folder, so that output does not depend on the working directory.
inline constexpr const char* kHideFolderOption = "-fdebug-compilation-dir=.";

// The target machine of a job for a CPU or an AMD GPU.
MachineSpec machine_of_job(const CompileJob& job);
// Returns the machine name of this computer, for example "x86_64".
std::string_view host_machine_name();

std::string compile_by_llvm(const CompileJob& job, Artifact what);
// Loads the engines (shared objects with LLVM, clang or lld) that the job needs, so that a worker forked from this
// process has them. Returns a bit mask of them (1: LLVM, 2: clang, 4: lld). Throws Failure if one is missing.
unsigned load_engines(const CompileJob& job, Artifact what);
// Uses NVRTC, or clang if NVRTC is missing or TGC_NVRTC is 0; for LLVM IR always clang.
std::string compile_cuda(const CompileJob& job, Artifact what);
std::string compile_ptx(const CompileJob& job, Artifact what);
// True if NVIDIA's own compilers, libraries or programs make this artifact of the job.
bool needs_nvidia_tools(const CompileJob& job, Artifact what);
bool has_ptxas();
// Returns a binary of this computer's OpenCL platform.
std::string compile_opencl(const CompileJob& job);

// Return a text for the cache key that identifies the compilers of a job and, if the code depends on it, this
// computer's CPU. Neither function loads a compiler.
std::string llvm_identity(const CompileJob& job);
std::string cuda_identity(const CompileJob& job, Artifact what);

std::string compile_cuda_by_clang(const CompileJob& job, OutputForm form);

// Returns bytes that read_metal_code() decodes (metal/metal.h). Throws Failure unless `what` is Artifact::Binary.
std::string compile_metal_by_clang(const CompileJob& job, Artifact what);

// Throws RejectedSource with the engine's message if `made` is not ok.
template <class T>
T result_or_throw(EngineResult<T> made) {
  if (made.ok) return std::move(made.value);
  const CompilerError& error = made.compiler_error;
  throw RejectedSource(Diag{.message = error.message, .line = error.line, .column = error.column});
}

void add_llvm_compilers(std::vector<CompilerInfo>& to);
void add_cuda_compilers(std::vector<CompilerInfo>& to);
void add_opencl_compilers(std::vector<CompilerInfo>& to);

inline bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace tgc
