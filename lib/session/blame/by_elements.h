// Loads and stores of vectors, done element by element instead: when a kernel is right then, and wrong as it was, it is
// how the vector is moved that is printed wrongly.
#pragma once
#include <span>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// Whether a node of a list loads or stores a vector whose place is a plain INDEX.
bool moves_vector(UOp u);

// The list with each node of that op that moves a vector as scalar loads or stores of its elements.
std::vector<UOp> by_elements(std::span<const UOp> list, Op op);

}  // namespace tgc
