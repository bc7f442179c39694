// Loads and stores of vectors, done element by element instead: when a kernel is right then, and wrong as it was, it is
// how the vector is moved that is printed wrongly.
#pragma once
#include <span>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// Whether a node of a list loads or stores a vector whose place is a plain INDEX.
bool moves_vector(UOp u);

// Whether C or LLVM IR take it for more than its elements at their place: they expect a vector at a multiple of its
// size, and C one of three to have the room of four.
bool is_loose(UOp move);

// The list with each node of those ops that moves a vector as scalar loads or stores of its elements.
std::vector<UOp> scalarize(std::span<const UOp> list, OpSet ops);

}  // namespace tgc
