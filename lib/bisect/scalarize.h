// Replaces vector loads and stores of a linear list by scalar ones. If that makes a wrong kernel right, the renderer
// misprints the vector access.
#pragma once
#include <span>
#include <vector>

#include "lib/uop/graph.h"

namespace tgc {

// Whether a node loads or stores a vector at a plain INDEX.
bool is_vector_access(UOp u);

// Whether the access breaks an assumption of C or LLVM IR: that a vector is aligned to its size, or that a vector of
// three elements has the size of four.
bool is_misaligned_vector(UOp access);

// Returns the list with each vector access of these ops as scalar loads or stores of its elements.
std::vector<UOp> scalarize(std::span<const UOp> list, OpSet ops);

}  // namespace tgc
