// Prints the debug output of passes at the values of DEBUG at which tinygrad prints it, but on standard error, because
// standard output is for the output of the command.
#pragma once
#include <cstdio>

#include "lib/uop/graph.h"

namespace tgc {

inline bool has_debug_level(const Graph& graph, int64_t level) { return graph.settings().DEBUG >= level; }
inline void debug_line(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

}  // namespace tgc
