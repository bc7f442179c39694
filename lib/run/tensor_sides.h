#pragma once
#include <functional>

#include "lib/import/tensor_graph.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// Returns the array of a buffer to use instead of a random one, or null.
using ContentOfBuffer = std::function<const Array*(UOp)>;

// Computes both sides of a recorded rewrite in REF, for all elements and all iterations of the loops around them, with
// random arrays. If the rewrite gave the tensor `before` loops, each value of `after` must be one of the values of
// `before`: the order of the elements may differ. The result is Open if a side cannot be computed; if `after` accesses
// memory out of bounds and `before` does not, EquivalenceResult::after says so. `of_all_sizes`: see all_sizes.h.
EquivalenceResult compare_tensor_sides(UOp before, UOp after, const TensorVariables& variables, uint64_t seed = 1,
                                       const ContentOfBuffer& content = {}, bool of_all_sizes = false);

// The first value of a tensor graph that differs after the stage that gives values their loops.
struct RangedDifference {
  UOp culprit;              // the node whose rewrite is wrong, before the stage; empty if all values are the same
  EquivalenceResult value_comparison;
  size_t num_compared = 0;
};
// Compares the values of a tensor graph before and after the stage that gives them loops; see import_tensor_pairs() for
// `stages`.
Result<RangedDifference> compare_tensor_pairs(UOp before, UOp after, const std::vector<UOp>& stages,
                                              const TensorVariables& variables, uint64_t seed);

}  // namespace tgc
