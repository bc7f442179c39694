// Explains the boundaries between the kernels of a schedule: why a value has a buffer of its own.
#pragma once
#include <string>

#include "lib/compilation/compilation.h"

namespace tgc {

// Returns a paragraph for each kernel of the tensor graph `c`: the node whose value it stores, why that value is
// stored, which kernels read it, and what would fuse them. Schedules a copy of the graph. Errors: those of schedule().
// Source in tinygrad: schedule/indexing.py (pm_generate_realize_map, run_rangeify), rangeify.py (remove_bufferize,
// pm_limit_bufs).
Result<std::string> fusion_text(const Compilation& c);

}  // namespace tgc
