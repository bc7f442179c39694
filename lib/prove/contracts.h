// Contracts: conditions under which a rewrite is right whose sides cannot be compared as values, for example because it
// changes loops, registers or accumulators. README.md states each contract.
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

// Returns true if `after` computes the REDUCE `before`. If `before` has no loops, `after` must be the op of its terms,
// such as their sum. Else `after` must read a register that starts with the identity element, and to which the same
// loops add the same terms in each iteration.
bool is_accumulator_of(UOp before, UOp after, LaneForms& lanes);

// Returns true if `before` is an END of one loop, and `after` a GROUP of ENDs whose loops run the same body for
// consecutive parts of the iterations, and together for all of them.
bool is_loop_split_into_parts(UOp before, UOp after);

// If `before` is a sum (a REDUCE with ADD), and `after` a sum over the same loops times factors that do not depend on
// these loops, returns two terms: that of `before`, and that of the sum in `after` times the factors. `before` and
// `after` are equal over the reals if the two terms are. Returns nullopt for other nodes.
std::optional<std::pair<UOp, UOp>> terms_times_factors(UOp before, UOp after);

// If both nodes are REDUCEs with the same op and dtypes over the same loops, in any order, and over no axes of vectors,
// returns their terms; else nullopt. The nodes are equal if the terms are, except that another order of the loops may
// round floats differently.
std::optional<std::pair<UOp, UOp>> terms_over_same_loops(UOp before, UOp after);
// Returns true if two REDUCEs have their loops in the same order.
bool have_same_loop_order(UOp reduce, UOp other);

// Returns the node inside the nested ENDs that `u` consists of; `u` itself if it is no END.
UOp remove_ends(UOp u);
// Returns true if one of the nodes is an END, and both end the same loops, in any order and nesting.
bool ends_same_loops(UOp before, UOp after);

}  // namespace tgc
