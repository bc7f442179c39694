// Compilers, contained. A compiler is as little to be trusted as what it is given: it crashes on odd sources. LLVM and
// clang run in worker processes that may read the system's files and nothing else (Rights::Compile); compilers that are
// drivers, programs of their own or lld, which links by files, in workers that have a driver's room. To start and to
// confine a process and to warm a compiler up takes longer than to compile a small kernel, so a worker is kept for the
// next source, whatever thread it comes from. One that has refused a source, crashed or run out of time is not.
#pragma once
#include "lib/compile/compile.h"

namespace tgc {

// What `compiler` makes of the job, there. Throws what it throws, Rejected included, or a Failure that names the kernel
// whose compiler died or took longer than the job allows.
std::string compile_contained(const CompileJob& job, Artifact what,
                              std::string (*compiler)(const CompileJob& job, Artifact what));

// What workers took of the processor, with all that they started, for sources that this thread has handed in.
double compile_worker_seconds();

}  // namespace tgc
