// Contracts of rewrites whose sides are not values, such as changed loops, registers and accumulators: conditions under
// which such a rewrite is right. README.md states each contract.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "lib/prove/lanes.h"
#include "lib/prove/loop_maps.h"
#include "lib/uop/uop.h"

namespace tgc {

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
