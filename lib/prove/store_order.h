// The order of stores to registers and shared memory. A graph orders two stores only if one of them is below the other,
// so a rewrite may compute the same values and still lose the order of stores.
#pragma once
#include <span>

#include "lib/prove/prove_sides.h"
#include "lib/compilation/rewrite_log.h"

namespace tgc {

// Returns whether the graph has two stores that may write the same element of a register or of shared memory, neither
// of which waits for the other.
bool has_unordered_stores(UOp root);

// If the stage's result has unordered stores and its input has none, some rewrite of the stage is no longer proven: the
// one whose stores do not wait for what the store before it waited for, else the last one. `proofs` are those of the
// stage's rewrites, in order.
void check_store_order(std::span<RewriteProof* const> proofs, std::span<const Application> list, UOp input, UOp result);

}  // namespace tgc
