// Makes kernels from the left sides of rules: a kernel stores nodes that a rule matches, with random nodes where its
// pattern allows any. This tests every rule about values, also those that are rarely hit.
#pragma once
#include "lib/fuzz/generator.h"
#include "lib/rewrite/rules.h"

namespace tgc {

// Returns an AST in which `rule` matches, unless another rule rewrites the match first. The empty UOp if an AST cannot
// have such a value, or the random dtypes do not fit together.
UOp pattern_kernel(Graph& graph, Chance& chance, const Rule& rule);

}  // namespace tgc
