// A kernel's C or LLVM IR under AddressSanitizer, in a process of its own: every access outside of a buffer is an error
// with the buffer and the line of the kernel's source, also where guard pages are too coarse to notice.
#pragma once
#include "lib/execute/execution.h"

namespace tgc {

// As execute(), without timed runs. It wants clang and its runtime (libclang-rt). An error: a kernel that is no C or
// LLVM IR for this computer's CPU, what the compiler says, and what AddressSanitizer found.
Result<Execution> execute_sanitized(const Executable& kernel, const Arrays& inputs, const VariableValues& variables,
                                    const ExecuteOptions& options);

}  // namespace tgc
