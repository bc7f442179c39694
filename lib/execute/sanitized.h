// Runs a kernel's C or LLVM IR under AddressSanitizer in a worker. An access outside of a buffer is an error with the
// buffer and the source line, even if it is too close to the buffer to reach a guard page.
#pragma once
#include "lib/execute/execution.h"

namespace tgc {

// Runs the kernel as execute() does, without timed runs. Requires clang and its runtime (libclang-rt). Fails,
// among other reasons, if the kernel is not C or LLVM IR for this computer's CPU, if it does not compile, if
// AddressSanitizer finds a bad access, or if the run exceeds the time limit.
Result<Execution> execute_sanitized(const Executable& kernel, const Arrays& inputs, const VariableValues& variables,
                                    const ExecuteOptions& options);

}  // namespace tgc
