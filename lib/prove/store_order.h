// The order of stores to registers and shared memory. A graph orders two stores only if one of them is below the other,
// so a rewrite may compute the same values and still lose the order of stores.
#pragma once
#include <set>
#include <span>
#include <string>

#include "lib/compilation/rewrite_log.h"
#include "lib/prove/prove_sides.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns whether the graph has two stores that may write the same element of a register or of shared memory, neither
// of which waits for the other.
bool has_unordered_stores(UOp root);

// If the stage's result has unordered stores and its input has none, some rewrite of the stage is no longer proven: the
// one whose stores do not wait for what the store before it waited for, else the last one. `proofs` are those of the
// stage's rewrites, in order.
void check_store_order(std::span<RewriteProof* const> proofs, std::span<const Application> list, UOp input, UOp result);

// Whether the parallel threads of a kernel store to elements of their own.

// Returns the names of the parallel axes of a graph: launch indices, and ranges of the grid, of workgroups and of CPU
// threads, with their sizes.
std::set<std::string> parallel_axes(UOp root);

// Returns a store to global memory of which no proof is found that each thread stores to an element of its own; the
// empty UOp if there is none. A store that is the same for all indices of an axis is no race.
UOp find_store_race(UOp root);

// Returns an AFTER that makes reads of shared memory wait for stores of the thread, but not for those of other threads,
// because no BARRIER is in between; the empty UOp if there is none.
UOp find_missing_barrier(UOp root);

}  // namespace tgc
