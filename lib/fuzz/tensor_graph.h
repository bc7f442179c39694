// Small tensor graphs at random, the same for the same seed: movements, reductions and arithmetic on one device or
// divided among several, copies, assignments, files, variables in shapes, tensors without elements.
#pragma once
#include "lib/fuzz/generator.h"

namespace tgc {

// The sink of a tensor graph of a few outputs. Throws Failure where chance put together what does not go together.
UOp tensor_graph(Graph& graph, Chance& chance);

}  // namespace tgc
