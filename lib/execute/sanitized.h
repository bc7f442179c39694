#pragma once
#include "lib/execute/execution.h"

namespace tgc {

// Runs a kernel's C or LLVM IR under AddressSanitizer in a worker, like execute_kernel(). Makes no timed runs. Requires
// clang and its runtime (libclang-rt). Fails, for example, if the kernel is not for the CPU, if AddressSanitizer finds
// an access outside of a buffer, or if the run exceeds the time limit.
Result<ExecutionResult> execute_with_sanitizer(const Executable& kernel, const Arrays& inputs,
                                               const VariableValues& variables, const ExecuteOptions& options);

}  // namespace tgc
