// What DEBUG makes passes tell about their choices, as tinygrad prints it; on standard error, for standard output is
// the command's own.
#pragma once
#include <cstdio>

#include "lib/uop/graph.h"

namespace tgc {

inline bool debugs(const Graph& graph, int64_t level) { return graph.settings().DEBUG >= level; }
inline void debug_line(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

}  // namespace tgc
