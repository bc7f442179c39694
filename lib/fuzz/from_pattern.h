// Generates kernels from the patterns (left sides) of rules. A kernel stores nodes that match the pattern, with random
// nodes where the pattern matches any node. This tests also rules that rarely apply to other kernels.
#pragma once
#include "lib/fuzz/generator.h"
#include "lib/rewrite/rules.h"

namespace tgc {

// Returns an AST in which `rule` matches, unless another rule rewrites the matching nodes before. Returns the empty UOp
// if no AST can contain such nodes, or if the randomly chosen dtypes contradict each other.
UOp pattern_kernel(Graph& graph, Chance& chance, const Rule& rule);

}  // namespace tgc
