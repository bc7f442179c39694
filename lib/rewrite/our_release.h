// Rejects graphs of other tinygrad releases, because the rules are tinygrad 0.12.0's.
#pragma once
#include "lib/uop/graph.h"

namespace tgc {

// Returns `graph`; throws Failure if it belongs to another release.
inline Graph& of_our_release(Graph& graph) {
  if (graph.is_foreign()) throw Failure("the rules are tinygrad 0.12.0's, and the graph is of another release");
  return graph;
}

}  // namespace tgc
