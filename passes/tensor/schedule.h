// The schedule: the kernels of a tensor graph in the order they run, and the buffers they work on.
// Mirrors tinygrad engine/schedule.py (create_schedule, complete_create_schedule_with_vars).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/support/sha256.h"
#include "passes/tensor/tensor_job.h"

namespace tgc {

struct ScheduleBuffer {
  UOp uop;                             // the BUFFER; an input's is that of the graph that was given
  std::string device;
  int64_t size = 0;                    // elements
  DType dtype;
  std::optional<size_t> view_of = {};  // the buffer that this is a part of
  int64_t offset = 0;                  // of a view: bytes into it
  bool is_input = false;               // the given graph names it
  bool is_output = false;              // the given sink's value is in it

  int64_t nbytes() const { return size * dtype.itemsize(); }
};

// One run of a kernel, or a copy, or the making of a view.
struct ScheduleItem {
  UOp ast;                                                    // a SINK; or a COPY, BUFFER_VIEW, ENCDEC
  std::vector<size_t> buffers;                                // by DEFINE_GLOBAL number; the first is written
  std::vector<std::pair<std::string, int64_t>> fixed_vars = {};  // variables with a value of this run
};

struct Schedule {
  std::vector<ScheduleItem> items;                            // in order
  std::vector<ScheduleBuffer> buffers;                        // by first use
  std::vector<std::pair<std::string, int64_t>> var_vals;      // of the bound variables
  // per source of the sink: its buffers, one per device; none for a constant
  std::vector<std::vector<size_t>> outputs;
  UOp sink;                                                   // of the AFTERs that the values became
};

// Every stage of the job has run and left `kernels`: the schedule of its sink.
// Throws Failure when the kernels wait for each other.
Schedule create_schedule(TensorJob& job, UOp kernels);

// What a kernel does with its buffers.
struct BufferAccess {
  bool reads = false, writes = false;
};
std::vector<BufferAccess> accesses_of(const ScheduleItem& item);

}  // namespace tgc
