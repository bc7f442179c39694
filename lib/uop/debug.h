// Prints the debug output of passes on standard error. The levels of DEBUG are tinygrad's.
#pragma once
#include <cstdio>

#include "lib/uop/graph.h"

namespace tgc {

inline bool has_debug_level(const Graph& graph, int64_t level) { return graph.settings().DEBUG >= level; }
inline void print_debug_line(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

}  // namespace tgc
