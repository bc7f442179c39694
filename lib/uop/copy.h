// Copies nodes to another Graph. A job that works on several kernels in parallel gives each its own Graph.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// Copies `root` and its transitive sources, including graphs inside args, to `to` and returns the copy of `root`. If
// `root` is of another release than 0.12, sets the release of `to`. Only reads the graph of `root`.
UOp copy_into(Graph& to, UOp root);

}  // namespace tgc
