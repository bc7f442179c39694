// Explains why the values that kernels compute have buffers.
#pragma once
#include <string>

#include "lib/compilation/compilation.h"
#include "lib/records/golden.h"

namespace tgc {

struct StorageReason {
  std::string reason_text;
  std::string remedy;
  bool is_final = false;    // the value is stored whatever computing it again would cost
};
// Returns the texts for `why` (GoldenStoredValue::Reason::reason). `op` is the op of the value, such as
// "Ops.CONTIGUOUS"; `by` is the op of its user.
StorageReason explain_storage(std::string_view why, const std::string& op, const std::string& by);
// Unless `reason` is final, adds to it why computing the value again would cost too much, if it would. `buffers` is the
// number of buffers that the value reads. `has_buffer_reduction` is true if computing the value reduces a buffer.
void add_storage_cost(StorageReason& reason, size_t buffers, bool has_buffer_reduction);

// Returns a text like that of fusion_text() for a recorded schedule of any release, which must have a kernel.
std::string recorded_fusion_text(const GoldenRecord& record);

// Returns a paragraph for each schedule item of tensor graph `c`. As far as it is known, it says which value the item
// stores, why, which items read it, and what would fuse them. Schedules a copy of the graph, and fails if that fails.
// Source in tinygrad: schedule/indexing.py (pm_generate_realize_map, run_rangeify), schedule/rangeify.py
// (remove_bufferize, pm_limit_bufs).
Result<std::string> fusion_text(const Compilation& c);

}  // namespace tgc
