// Contracts of rewrites whose sides are not values: changed loops, registers, accumulators. README.md states each.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/prove/lanes.h"
#include "lib/uop/uop.h"

namespace tgc {

// A replacement of loops: each RANGE by an expression of other loops.
using RangeMap = std::vector<std::pair<UOp, UOp>>;

// Returns whether the new loops run over the same iterations: the map from their indices to those of the replaced
// ranges is one to one, and hits each. Decides by the form of the map, else by enumeration; false if there are too many
// iterations, or if the sizes are not constant.
bool is_same_iterations(const RangeMap& map);

// Returns whether different values of the loops in an index give different indices, all of them from 0 up to `size`, by
// trying them. False if there are too many.
bool is_one_to_one_into(UOp index, int64_t size);

// An iteration of the replaced loops, as values of their RANGEs, that the new loops run never or more than once.
struct WrongIteration {
  std::vector<std::pair<UOp, int64_t>> at;
  bool is_lost = false;
};
// Returns the first lost iteration, else the first that runs twice; nullopt if there is none, or if it is not known.
std::optional<WrongIteration> wrong_iteration(const RangeMap& map);

// Returns whether `after` declares the memory that `before` declares, as scalars instead of vectors.
bool is_same_memory(UOp before, UOp after);

// Returns whether `after` is the loop that computes the REDUCE `before` in a register: the register starts with the
// identity element, each iteration adds the same terms, and the loops are those of the REDUCE.
bool is_accumulator_of(UOp before, UOp after, LaneForms& lanes);

// Returns whether `after` runs the store of `before`, an END of one loop, in several loops: each over a part of the
// iterations, one part after the other, which together are all of them.
bool is_loop_in_parts(UOp before, UOp after);

// If `after` is a REDUCE times factors that do not depend on its loops, returns the terms of the REDUCE `before`, and
// the terms of the other one times the factors. The sums are equal over the reals if these terms are.
std::optional<std::pair<UOp, UOp>> terms_times_factors(UOp before, UOp after);

// If both nodes are REDUCEs of the same op over the same loops, returns their terms. The nodes are equal if these are.
std::optional<std::pair<UOp, UOp>> terms_over_same_loops(UOp before, UOp after);

// Returns the node inside nested ENDs.
UOp inside_ends(UOp u);
// Returns whether a node is an END, and both end the same loops, in any order and nesting. An END may end no loop.
bool ends_same_loops(UOp before, UOp after);

}  // namespace tgc
