// Checks the order of the kernels of a recorded schedule without running it.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "lib/run/recorded_schedule.h"

namespace tgc {

inline std::string kernel_text(size_t number) { return "kernel " + std::to_string(number); }

// Two kernels that access the same memory and run in the wrong order.
struct OrderFault {
  size_t first = 0, second = 0;  // numbers of kernels of the record: `first` must run before `second`
  std::string buffer;            // "data1", or "memory 2" between kernels
  std::string edge;              // "write after read: kernel 1 must run before kernel 0"
  std::string function;          // of tinygrad, which makes the edge: "create_schedule (schedule/__init__.py)"
  std::string text;              // one sentence
  bool is_of_plan = false;       // the places that the memory planner chose are wrong, not the order

  std::string detail() const { return text + (is_of_plan ? "" : ", but the schedule has the other order"); }
};

struct OrderReport {
  std::vector<OrderFault> faults;
  // Kernels that read the content of a buffer before a store, although they depend on the kernel of this store. No
  // order is right, and tinygrad keeps no copy of the old content.
  std::vector<OrderFault> stale_reads;
  std::vector<bool> depends_on_stale;  // by kernel: a stale read decides what it computes
  std::vector<std::string> undecided;  // pairs of kernels whose order the graph does not decide
  std::string not_checked;             // why the order was not checked; empty: it was
};

// The stage "split kernels" says which content of a buffer each kernel reads and writes: an AFTER is the content after
// its kernels. The recorded order must keep each read after the writes that it sees and before the others
// (schedule/__init__.py:create_schedule). Buffers that share memory must not be in use at the same time
// (schedule/memory.py:memory_plan_rewrite).
OrderReport check_order(const Session& session, const GoldenRecord& record, Release release,
                        const RecordedSchedule& schedule, const TensorParameters& parameters);

// Adds notes on stale reads and undecided orders. Returns the slots of the buffers that a stale read decides.
std::set<int64_t> note_order(const OrderReport& order, const RecordedSchedule& recorded,
                             std::vector<std::string>& notes);

// Checks what a TinyJit makes of the kernels that it captured, without running them.

// Returns whether a record is about the calls of a TinyJit (python/tgc/export/jit_plan.py).
bool is_of_jit(const GoldenRecord& record);

// The AST of the record lists the kernels as the function made them. Each stage lists them as a later step of the jit
// left them. A list is right if it leaves the same contents in the buffers that keep their places. A content is the
// kernel that stored it, and the contents that this kernel read. Returns the fault of the first list that is wrong.
// Throws Failure if a list cannot be checked.
std::optional<OrderFault> find_jit_fault(const Session& session, const GoldenRecord& record, Release release,
                                         const TensorParameters& parameters);

}  // namespace tgc
