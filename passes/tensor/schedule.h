// The schedule: the kernels and other operations of a tensor graph in execution order, and their buffers.
// Mirrors tinygrad engine/schedule.py (create_schedule, complete_create_schedule_with_vars).
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/support/sha256.h"
#include "passes/tensor/tensor_job.h"

namespace tgc {

struct ScheduleBuffer {
  UOp uop;                             // the BUFFER; for an input, the BUFFER of the original graph
  std::string device;
  int64_t num_elements = 0;
  DType dtype;
  std::optional<size_t> view_of = {};  // for a view: the number of the buffer of which it is a part
  int64_t offset_bytes = 0;            // for a view: byte offset in that buffer
  bool is_input = false;               // true for a BUFFER of the original graph
  bool is_output = false;              // true if the value of a source of the original sink is in the buffer

  int64_t nbytes() const { return num_elements * dtype.itemsize(); }
};

// One launch of a kernel, or one other operation on buffers, such as a copy.
struct ScheduleItem {
  UOp ast;                                                    // a SINK for a kernel; or COPY, BUFFER_VIEW, ENCDEC
  // by DEFINE_GLOBAL number; an AST that is not a SINK writes the first one
  std::vector<size_t> buffers;
  // values of the variables that differ between the launches of a kernel: loops of the schedule, and _device_num
  std::vector<std::pair<std::string, int64_t>> fixed_vars = {};
};

struct Schedule {
  std::vector<ScheduleItem> items;                            // in execution order
  std::vector<ScheduleBuffer> buffers;
  std::vector<std::pair<std::string, int64_t>> var_vals;
  // for each source of the sink, its buffers, one per device; empty if it is not in a buffer, such as a constant
  std::vector<std::vector<size_t>> output_buffers;
  UOp result_sink;
};

// Returns the schedule of `kernels`, the result of the last tensor stage of `job`. Throws Failure if `kernels`
// cannot be scheduled.
Schedule create_schedule(TensorJob& job, UOp kernels);

struct BufferAccess {
  bool is_read = false, is_written = false;
};
std::vector<BufferAccess> accesses_of(const ScheduleItem& item);

}  // namespace tgc
