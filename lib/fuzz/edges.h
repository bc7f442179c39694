// Kernels at the ends: of what a float holds to the last digit, of what a dtype holds, of what a device launches. There
// a rule goes wrong that computes with unbounded numbers what a kernel computes with bounded ones, or the other way.
#pragma once
#include "lib/fuzz/generator.h"
#include "lib/target/target.h"

namespace tgc {

// The AST of one of these, at random:
//   - a multiple of an index compared with about a multiple of the same number, up to where int64 ends
//   - an index about where a float's digits end, cast to that float and compared with a number about there
//   - small integers divided, compared and shifted by constants about where their dtype ends
UOp edge_kernel(Graph& graph, Chance& chance);

// The AST of a kernel whose loops are threads already: a grid of which a dimension, or a product of two, is about what
// the target launches at most, or more. The empty UOp: it launches more than fits here, or any number.
UOp grid_kernel(Graph& graph, Chance& chance, const Target& target);

}  // namespace tgc
