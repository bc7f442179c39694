// Kernels made from the left sides of rules: what a rule matches, with nodes of all kinds where its pattern takes any,
// and stored. So every rule about values is tried, the rare ones too.
#pragma once
#include "lib/fuzz/generator.h"
#include "lib/rewrite/rules.h"

namespace tgc {

// An AST in which `rule` finds its left side, unless other rules take it away first. The empty UOp: what it matches is
// no value of a kernel's AST, or chance chose dtypes that do not go together.
UOp pattern_kernel(Graph& graph, Chance& chance, const Rule& rule);

}  // namespace tgc
