// Rejects graphs of tinygrad releases other than 0.12.0, because the rewrite rules are those of 0.12.0.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// Returns `graph`; throws Failure if its release is not 0.12.0.
inline Graph& of_our_release(Graph& graph) {
  if (graph.is_foreign()) throw Failure("the rules are tinygrad 0.12.0's, and the graph is of another release");
  return graph;
}

}  // namespace tgc
