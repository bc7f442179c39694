// Generates small random tensor graphs, the same for the same seed: movements, reductions and arithmetic on one device
// or sharded over several, copies, assignments, files, variables in shapes, tensors without elements.
#pragma once
#include "lib/fuzz/generator.h"

namespace tgc {

// Returns the sink of a tensor graph with a few outputs. Throws Failure if its random parts do not fit together.
UOp tensor_graph(Graph& graph, Chance& chance);

}  // namespace tgc
