// Compiles a copy of a graph. Facts are cached per Graph and can change later rewrites, so compiling the same Graph
// twice may give two results; copies do not affect each other.
#pragma once
#include "lib/driver/session.h"

namespace tgc {

// Copies `in` into a new Graph with `settings` and begins to compile the copy for `target`. Throws Failure.
Compilation compile_copy(const Session& session, const InputGraph& in, const std::string& target,
                         const Settings& settings);

}  // namespace tgc
