// Random kernels at limits: the last digit of floats, the ends of dtypes, the launch limits of devices. They find rules
// that compute with unbounded numbers what a kernel computes with bounded ones, or the other way round.
#pragma once
#include "lib/fuzz/generator.h"
#include "lib/target/target.h"

namespace tgc {

// Returns a random AST, one of:
//   - a multiple of an index compared with about a multiple of the same number, up to the end of int64
//   - an index near the largest integer that a float holds exactly, cast to that float and compared
//   - small integers divided, compared and shifted by constants near the ends of their dtype
UOp edge_kernel(Graph& graph, Chance& chance);

// Returns an AST whose loops are threads: a dimension of the grid, or the product of two, is about the target's launch
// limit, or above. The empty UOp if the target has no limit or a larger one than the generator can use.
UOp grid_kernel(Graph& graph, Chance& chance, const Target& target);

}  // namespace tgc
