// Copies nodes to another Graph. A job that works on several kernels in parallel gives each kernel its own Graph.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// Copies `root`, its transitive sources and the graphs inside their args to the Graph `to`. Returns the copy of `root`.
// If the release of root's graph is not 0.12, sets the release of `to` to it. Does not change the graph of `root`.
UOp copy_into(Graph& to, UOp root);

}  // namespace tgc
