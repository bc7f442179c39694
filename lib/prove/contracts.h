// Contracts: conditions under which a rewrite is right although its sides cannot be compared as values. README.md
// states them.
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

// Returns true if `after` is a CAST, to the dtype of `before`, of the same memory with scalar elements.
bool is_same_memory(UOp before, UOp after);

// Returns true if `after` computes the REDUCE `before`, perhaps with its terms in another order: as the op of all
// terms, or in a register that starts with the identity element, and to which the same loops add the same terms.
bool is_accumulator_of(UOp before, UOp after, LaneForms& lanes);

// Returns true if `before` is an END of one loop, and `after` a GROUP of ENDs whose loops run the same body for
// consecutive parts of all iterations.
bool is_loop_split_into_parts(UOp before, UOp after);

// If `before` is a sum (a REDUCE with ADD), and `after` a sum over the same RANGEs, in the same order, times factors
// that do not depend on them, returns the term of `before`, and the term of the other sum times the factors. The nodes
// are equal over the reals if the two terms are. Returns nullopt for other nodes, and for sums over lanes.
std::optional<std::pair<UOp, UOp>> terms_times_factors(UOp before, UOp after);

// Returns the terms of two REDUCEs with the same op and dtypes over the same loops, in any order, and over no UNROLL;
// else nullopt. If the terms are equal, the nodes are, except that another order of the loops may round differently.
std::optional<std::pair<UOp, UOp>> terms_over_same_loops(UOp before, UOp after);
bool have_same_loop_order(UOp reduce, UOp other);

// Returns the node inside the nested ENDs that `u` consists of; `u` itself if it is no END.
UOp remove_ends(UOp u);
// Returns true if one of the nodes is an END, and both end the same loops, in any order and nesting.
bool are_ends_of_same_loops(UOp before, UOp after);

}  // namespace tgc
