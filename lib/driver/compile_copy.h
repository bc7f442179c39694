// Compiles a copy of a graph. Facts are cached per Graph and can change later rewrites, so compiling the same Graph
// twice may give two results; copies do not affect each other.
#pragma once
#include "lib/driver/session.h"

namespace tgc {

// Begins a compilation for `target` of a copy of `in` in a new Graph with `settings`. Throws Failure.
Compilation compile_copy(const Session& session, const InputGraph& in, const std::string& target,
                         const Settings& settings);

}  // namespace tgc
