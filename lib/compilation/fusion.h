// Explains the boundaries between the kernels of a schedule: why a value has a buffer of its own.
#pragma once
#include <string>

#include "lib/compilation/compilation.h"
#include "lib/records/golden.h"

namespace tgc {

// The reason why a scheduler stores a value in a buffer.
struct StorageReason {
  std::string reason_text;  // the reason as text
  std::string remedy;       // what would make the scheduler fuse the kernels that store and read the value
  bool is_final = false;    // the scheduler never removes this buffer again, whatever computing the value would cost
};
// Returns the texts for the reason `why`, a word of GoldenStoredValue::Reason. `op` is the op of the value, such as
// "Ops.CONTIGUOUS"; `by` is the op of the value's user.
StorageReason storage_reason(std::string_view why, const std::string& op, const std::string& by);
// Adds to `reason` why the scheduler did not remove the buffer later, as it does for values that are cheap to compute.
// `buffers` is the number of buffers that the value reads; `reduces_buffer`: it is computed by a reduction of a buffer.
void add_cost(StorageReason& reason, size_t buffers, bool reduces_buffer);

// Returns a text like that of fusion_text() for a recorded schedule of any release, which must have a kernel.
std::string recorded_fusion_text(const GoldenRecord& record);

// Returns a paragraph for each kernel of the tensor graph `c`: the node whose value it stores, why that value is
// stored, which kernels read it, and what would fuse them. Schedules a copy of the graph. Errors: those of schedule().
// Source in tinygrad: schedule/indexing.py (pm_generate_realize_map, run_rangeify), schedule/rangeify.py
// (remove_bufferize, pm_limit_bufs).
Result<std::string> fusion_text(const Compilation& c);

}  // namespace tgc
