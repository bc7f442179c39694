// Makes kernels from the left sides of rules: the kernel stores nodes that a rule matches, with random nodes where the
// rule's pattern allows any node. This tests every rule that rewrites values, even rules that other kernels rarely hit.
#pragma once
#include "lib/fuzz/generator.h"
#include "lib/rewrite/rules.h"

namespace tgc {

// Returns an AST in which `rule` matches, unless another rule rewrites the matching nodes first. Returns the empty UOp
// if no AST can contain such nodes, or if the randomly chosen dtypes do not fit together.
UOp pattern_kernel(Graph& graph, Chance& chance, const Rule& rule);

}  // namespace tgc
