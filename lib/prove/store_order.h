// Checks for unordered stores, races and missing barriers, which a rewrite may cause although it keeps all values.
#pragma once
#include <set>
#include <span>
#include <string>

#include "lib/compilation/rewrite_log.h"
#include "lib/prove/prove_sides.h"
#include "lib/uop/uop.h"

namespace tgc {

// Returns true if the graph has two stores that may write the same element of a register or of shared memory, and
// neither waits for the other.
bool has_unordered_stores(UOp root);

// If the stage's result has unordered stores and its input has none, sets the proof of one rewrite to unknown, if it is
// proven or sampled: of a rewrite that dropped the order of two stores or, if none is found, of the last rewrite.
// `proofs` are those of the stage's rewrites, in order; `list` has all rewrites.
void check_store_order(std::span<RewriteProof* const> proofs, std::span<const Rewrite> list, UOp input,
                       UOp result);

// Returns the names, with the sizes, of the axes of a graph whose iterations run in parallel threads.
std::set<std::string> parallel_axes(UOp root);
// Returns the number of combinations of the parallel axes' indices, with variable sizes at their largest values; -1 if
// it is not known.
int64_t num_parallel_iterations(UOp root);

// Returns a store to global memory by which several threads may store different values to one element; the empty UOp if
// none is found. Skips stores of vectors with an index for each lane.
UOp find_store_race(UOp root);

// Returns an AFTER of shared memory that depends on a store to this memory without a BARRIER in between: reads then
// wait for the thread's own stores, but not for those of other threads. Returns the empty UOp if there is none, and for
// graphs without a SPECIAL that numbers several threads of a group.
UOp find_missing_barrier(UOp root);

}  // namespace tgc
