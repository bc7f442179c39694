// Tests whether the two sides of a recorded rewrite of a tensor graph compute the same, and whether the graph does
// before and after the stage that gives values their loops.
#pragma once
#include <functional>

#include "lib/import/tensor_graph.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// Returns the array of a buffer that is to be used instead of a random one; null if there is none.
using ContentOfBuffer = std::function<const Array*(UOp)>;

// Computes both sides in REF, for all elements and all iterations of the loops around them, with random arrays. If the
// rewrite gave the tensor `before` loops, `after` may have its elements in another order: then each value of `after`
// must be one of the values of `before`. The result is Open if a side cannot be computed. If `after` accesses memory
// out of bounds and `before` does not, EquivalenceResult::after says so.
// With `of_all_sizes`, random arrays have values of all sizes if the graph allows it (all_sizes.h).
EquivalenceResult compare_tensor_sides(UOp before, UOp after, const TensorVariables& variables, uint64_t seed = 1,
                                       const ContentOfBuffer& content = {}, bool of_all_sizes = false);

// The first value of a tensor graph that differs after the stage that gives values their loops.
struct RangedDifference {
  UOp culprit;              // the node of the graph before the stage whose rewrite is wrong; empty if all values are
                            // the same
  // how the values of `culprit` compare; Open if the graph after the stage accesses memory out of bounds
  EquivalenceResult value_comparison;
  size_t num_compared = 0;      // number of compared values
};
// Compares the values of a tensor graph before and after the stage that gives them loops; see import_tensor_pairs() for
// `stages`.
Result<RangedDifference> compare_tensor_pairs(UOp before, UOp after, const std::vector<UOp>& stages,
                                              const TensorVariables& variables, uint64_t seed);

}  // namespace tgc
