// Makes kernels from the left sides of rules: the nodes that a rule matches, with random nodes where its pattern takes
// any, stored. So every rule about values is tested, rare ones too.
#pragma once
#include "lib/fuzz/generator.h"
#include "lib/rewrite/rules.h"

namespace tgc {

// Returns an AST in which `rule` matches, unless another rule rewrites the match first. The empty UOp if the pattern is
// no value of a kernel's AST, or the random dtypes do not fit together.
UOp pattern_kernel(Graph& graph, Chance& chance, const Rule& rule);

}  // namespace tgc
