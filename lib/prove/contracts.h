// Contracts of rewrites whose sides are not values, such as changed loops, registers and accumulators: conditions under
// which such a rewrite is right. README.md states each contract.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/prove/lanes.h"
#include "lib/uop/uop.h"

namespace tgc {

// A replacement of loops: pairs of a RANGE and the expression of other loops that replaces it.
using RangeMap = std::vector<std::pair<UOp, UOp>>;

// Returns true if the new loops run over the same iterations: the map from their indices to those of the replaced
// ranges is one to one and onto. Decides by the form of the map or, if this does not decide, by enumeration. Returns
// false if neither decides, for example because there are too many iterations to enumerate.
bool is_same_iterations(const RangeMap& map);

// Returns true if different values of the loops in `index` give different indices, all of them in 0..size-1. Enumerates
// the values; returns false if there are too many.
bool is_one_to_one_into(UOp index, int64_t size);

// Returns the value of an integer that depends on nothing, such as 2 * 4 + 1; nullopt for others, and for Invalid.
std::optional<int64_t> constant_integer(UOp u);

// An iteration of the replaced loops, as values of their RANGEs, that the new loops never run or run more than once.
struct WrongIteration {
  std::vector<std::pair<UOp, int64_t>> at;
  bool is_lost = false;  // the new loops never run the iteration
};
// Returns the first lost iteration or, if none is lost, the first that runs twice. Returns nullopt if there is neither,
// or if this is not known.
std::optional<WrongIteration> wrong_iteration(const RangeMap& map);

// Returns true if `after` declares the same memory as `before`, but with elements that are scalars instead of vectors.
bool is_same_memory(UOp before, UOp after);

// Returns true if `after` is the op of the terms of a REDUCE without loops, or the loop that computes the REDUCE
// `before` in a register: the register starts with the identity element, each iteration adds the same terms, and the
// loops are those of the REDUCE.
bool is_accumulator_of(UOp before, UOp after, LaneForms& lanes);

// Returns true if `before`, a store in one loop, is split in `after` into several loops, which run consecutive parts of
// the iterations and together all of them.
bool is_loop_in_parts(UOp before, UOp after);

// If `after` is a REDUCE times factors that do not depend on its loops, returns the terms of the REDUCE `before`, and
// the terms of the REDUCE in `after` times the factors. The sums are equal over the reals if these terms are.
std::optional<std::pair<UOp, UOp>> terms_times_factors(UOp before, UOp after);

// If both nodes are REDUCEs of the same op over the same loops, in any order, returns their terms. The nodes are equal
// if the terms are, except that another order of the loops may round floats differently.
std::optional<std::pair<UOp, UOp>> terms_over_same_loops(UOp before, UOp after);
// Returns true if two REDUCEs have their loops in the same order.
bool has_loops_in_order_of(UOp reduce, UOp other);

// Returns the node inside nested ENDs.
UOp inside_ends(UOp u);
// Returns true if one of the nodes is an END, and both end the same loops, in any order and nesting.
bool ends_same_loops(UOp before, UOp after);

}  // namespace tgc
