// REF in a worker (lib/contain) for whoever has a program and its arrays at hand: what dies there is an error here.
#pragma once
#include <span>

#include "lib/execute/executable.h"
#include "lib/runtime/array.h"
#include "lib/runtime/ref/ref.h"

namespace tgc {

// Runs the program as RefProgram::run does, with its errors, and with those of a worker that dies ("killed by ...").
// What it stores to must be shared with the worker (Array::shared).
Status run_contained(const RefProgram& program, std::span<const RefBuffer> buffers,
                     const VariableValues& variables = {});

// A copy that a worker can write to.
Array shared_copy(const Array& array);

}  // namespace tgc
