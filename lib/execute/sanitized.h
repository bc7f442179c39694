// Runs a kernel's C or LLVM IR under AddressSanitizer in a worker. An access outside of a buffer is an error with the
// buffer and the source line, even if it is too close to the buffer to reach a guard page.
#pragma once
#include "lib/execute/execution.h"

namespace tgc {

// Runs the kernel as execute() does, without timed runs. Requires clang and its runtime (libclang-rt). Errors: the
// kernel is no C or LLVM IR for this computer's CPU, the compiler's errors, and what AddressSanitizer found.
Result<Execution> execute_sanitized(const Executable& kernel, const Arrays& inputs, const VariableValues& variables,
                                    const ExecuteOptions& options);

}  // namespace tgc
