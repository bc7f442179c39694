// Copies nodes to another Graph. A job that works on several kernels in parallel gives each kernel its own Graph.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// Copies `root` and its transitive sources, with the graphs inside their args, to `to`. Returns the copy of `root`. If
// `root` is of another release than 0.12, `to` is set to that release. The graph of `root` does not change.
UOp copy_into(Graph& to, UOp root);

}  // namespace tgc
