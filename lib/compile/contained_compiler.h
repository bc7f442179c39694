// Runs compilers in worker processes, because a compiler can crash or misbehave on odd sources. Any thread may reuse
// an idle worker, but not one that called a driver.
#pragma once
#include "lib/compile/compile.h"

namespace tgc {

// Runs `compiler` on the job in a worker process (in this process in a sanitizer build). Throws RejectedSource if
// `compiler` does, and another Failure for any other error. If the worker dies or runs out of time, the message names
// the kernel.
std::string compile_by_worker(const CompileJob& job, Artifact what,
                              std::string (*compiler)(const CompileJob& job, Artifact what));

// Returns the processor time that workers and their child processes have used for sources of the calling thread.
double compiler_processor_seconds();

}  // namespace tgc
