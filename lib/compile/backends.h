// The compilers behind compile(): one function a family. All throw Failure; a source that does not compile gives a Diag whose line and
// column are those of the source (compile.cpp adds the file and the line's text).
#pragma once
#include "lib/compile/compile.h"
#include "lib/compile/engines.h"

namespace tgc {

// The machine of a job for CPUs and AMD GPUs.
Machine machine_of(const CompileJob& job);
// The name of this computer's kind of CPU: "x86_64", "aarch64".
std::string_view host_machine();

// LLVM IR, C, HIP and OpenCL sources, by LLVM and clang.
std::string compile_by_llvm(const CompileJob& job, Artifact what);

// What decides the result besides the source and the job: names and versions of the compilers. Cheap: loads nothing large.
std::string compiler_identity(const CompileJob& job, Artifact what);

// The bytes of a successful compilation, or its complaint as a Failure.
std::string take(Made<std::string> made);

}  // namespace tgc
