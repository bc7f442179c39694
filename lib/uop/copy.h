// Copies of graphs in another Graph: a job that works on several kernels at once gives each a Graph of its own.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// `root` and all below it as nodes of `to`. The graph that `root` is of is only read.
UOp copy_into(Graph& to, UOp root);

}  // namespace tgc
