// Runs programs of the reference interpreter (REF) in a worker process (lib/contain), so that a program that crashes
// only gives an error.
#pragma once
#include <span>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"
#include "lib/runtime/ref/ref.h"

namespace tgc {

// Runs the program as RefProgram::run does. Errors: those of RefProgram::run, and "killed by ..." if the worker dies.
// Arrays that the program stores to must be shared with the worker (Array::shared).
Status run_in_worker(const RefProgram& program, std::span<const RefBuffer> buffers,
                     const VariableValues& variables = {});
// The same; with `in_process`, in this process, which costs less.
Status run_ref(const RefProgram& program, std::span<const RefBuffer> buffers, const VariableValues& variables,
               bool in_process);

// Returns a copy of the array in memory that is shared with workers, so that a worker can write to it.
Array shared_copy(const Array& array);

}  // namespace tgc
