// The compilers behind compile(): one function a family. All throw Failure; a source that does not compile gives a
// Rejected, whose line and column are those of the source (compile.cpp adds the file and the line's text).
#pragma once
#include "lib/compile/compile.h"
#include "lib/compile/engines.h"

namespace tgc {

// The compiler's verdict on a source, as opposed to trouble with the compiler.
class Rejected : public Failure {
 public:
  using Failure::Failure;
};

// With line tables: what is made does not tell in which folder, nor depend on it.
inline constexpr const char* kNoFolder = "-fdebug-compilation-dir=.";

// The machine of a job for CPUs and AMD GPUs.
Machine machine_of(const CompileJob& job);
// The name of this computer's kind of CPU: "x86_64", "aarch64".
std::string_view host_machine();

std::string compile_by_llvm(const CompileJob& job, Artifact what);  // LLVM IR; C, HIP and OpenCL by clang
// Loads the engines that this needs, so that a process forked from here has them. Returns which: a bit each. Throws.
unsigned load_engines(const CompileJob& job, Artifact what);
// NVRTC where present, else clang; ptxas behind both
std::string compile_cuda(const CompileJob& job, Artifact what);
std::string compile_ptx(const CompileJob& job, Artifact what);
// Whether one of the two goes by NVIDIA's own compilers, libraries or programs.
bool wants_nvidia(const CompileJob& job, Artifact what);
// by the OpenCL platform of this computer: its binary
std::string compile_opencl(const CompileJob& job);

// What decides the result besides the source and the job: names and versions of the compilers.
// Cheap: loads nothing large.
std::string llvm_identity(const CompileJob& job);
std::string cuda_identity(const CompileJob& job, Artifact what);

// What clang makes of a CUDA source without CUDA's headers (cuda_clang.cpp).
std::string cuda_by_clang(const CompileJob& job, Form form);

// What clang makes of a Metal source for this computer (metal/metal.h reads it).
std::string metal_by_clang(const CompileJob& job, Artifact what);

// What a successful compilation made, or its complaint as a Rejected.
template <class T>
T take(Made<T> made) {
  if (made.ok) return std::move(made.value);
  throw Rejected(Diag{.message = made.complaint.message, .line = made.complaint.line, .column = made.complaint.column});
}

// Rows of compilers().
void add_llvm_compilers(std::vector<CompilerInfo>& to);
void add_cuda_compilers(std::vector<CompilerInfo>& to);
void add_opencl_compilers(std::vector<CompilerInfo>& to);

}  // namespace tgc
