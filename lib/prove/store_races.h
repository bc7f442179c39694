// Whether the parallel threads of a kernel store to elements of their own.
#pragma once
#include <set>
#include <string>

#include "lib/uop/uop.h"

namespace tgc {

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
