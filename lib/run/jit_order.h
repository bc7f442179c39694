// Checks what a TinyJit makes of the kernels that it captured, without running them.
#pragma once
#include "lib/run/schedule_order.h"

namespace tgc {

// Returns whether a record is about the calls of a TinyJit (python/tgc/export/jit_plan.py).
bool is_of_jit(const GoldenRecord& record);

// The AST of the record lists the kernels as the function made them. Each stage lists them as a later step of the jit
// left them. A list is right if it leaves the same contents in the buffers that keep their places. A content is the
// kernel that stored it, and the contents that this kernel read. Returns the fault of the first list that is wrong.
// Throws Failure if a list cannot be checked.
std::optional<OrderFault> find_jit_fault(const Session& session, const GoldenRecord& record, Release release,
                                         const TensorParameters& parameters);

}  // namespace tgc
