// Compilers, contained. A compiler is as little to be trusted as what it is given: it crashes on odd sources. LLVM and
// clang run in a worker process that may read the system's files and nothing else (Rights::Compile). A thread that
// compiles has one such worker, which it keeps for the next source: to start and to confine a process takes as long as
// to compile a small kernel. Compilers that are drivers or programs of their own have a driver's room, and a process a
// source.
#pragma once
#include "lib/compile/compile.h"

namespace tgc {

// What `compiler` makes of the job, there. Throws what it throws, Rejected included, or a Failure that names the kernel
// whose compiler died or took longer than the job allows; the next source has a new worker then.
std::string compile_contained(const CompileJob& job, Artifact what,
                              std::string (*compiler)(const CompileJob& job, Artifact what));

}  // namespace tgc
