// Generates small random tensor graphs; equal seeds give equal graphs. They have movements, reductions and arithmetic
// on one or several devices, copies, assignments, files, variables in shapes, and tensors without elements.
#pragma once
#include "lib/fuzz/generator.h"

namespace tgc {

// Returns the sink of a tensor graph with a few outputs. Throws Failure if random choices contradict each other.
UOp tensor_graph(Graph& graph, Chance& chance);

}  // namespace tgc
