// Compilations of a copy: what a graph has been asked once it knows, and would then be rewritten otherwise.
#pragma once
#include "lib/driver/session.h"

namespace tgc {

// A compilation of its own for that target, of a copy of the graph in a Graph with those settings; the session says the
// rest. Throws Failure.
Compilation compile_copy(const Session& session, const InputGraph& in, const std::string& target, const Settings& settings);

}  // namespace tgc
