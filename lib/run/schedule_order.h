// Checks the order of the kernels of a recorded schedule, and the memory that they share, without running it.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "lib/run/recorded_schedule.h"

namespace tgc {

inline std::string kernel_label(size_t number) { return "kernel " + std::to_string(number); }

// Two kernels that access the same memory in the wrong order, or one that is missing, accesses the wrong memory or
// gets a wrong value.
struct ScheduleFault {
  // kernels of the record; the first must run before the second
  size_t first_kernel = 0, second_kernel = 0;
  std::string buffer;            // "data1", "memory 2" for memory between kernels, or the name of a variable
  // such as "write after read: kernel 1 must run before kernel 0"; empty for a fault of a single kernel
  std::string dependency_kind;
  // tinygrad's function that should ensure the dependency: "create_schedule (schedule/__init__.py)"
  std::string function;
  std::string explanation;
  // true: `function` chose wrong memory, arguments or values; false: it missed the dependency
  bool is_plan_fault = false;

  std::string detail() const { return explanation + (is_plan_fault ? "" : ", but the schedule has the other order"); }
};

struct OrderReport {
  std::vector<ScheduleFault> order_faults;
  // Kernels that read the content of a buffer from before a store, although they depend on the kernel that stores. No
  // order is right, and tinygrad keeps no copy of the old content.
  std::vector<ScheduleFault> stale_reads;
  std::vector<bool> depends_on_stale_read;
  // pairs of kernels whose order the graph does not decide, at most four of them
  std::vector<std::string> undecided_pairs;
  std::string not_checked_reason;             // empty if the order was checked
};

// Checks the order of the kernels of `record`; if is_jit_record(), see find_jit_fault(). A stage of the record says
// which content of a buffer each kernel reads and writes: AFTER(buffer, calls) is the content after these calls. A
// kernel must run after the writes of the content that it reads, and before later writes
// (schedule/__init__.py:create_schedule). Buffers that share memory must not be in use at the same time
// (schedule/memory.py:memory_plan_rewrite).
OrderReport check_order(const Session& session, const GoldenRecord& record, Release release,
                        const RecordedSchedule& schedule, const TensorParameters& parameters);

// Appends notes on stale reads and undecided orders. Returns the slots of the buffers whose content depends on a stale
// read.
std::set<int64_t> add_order_notes(const OrderReport& order, const RecordedSchedule& recorded,
                                  std::vector<std::string>& notes);

// Returns whether a record has the lists of a TinyJit's calls (python/tgc/export/jit_plan.py).
bool is_jit_record(const GoldenRecord& record);

// Checks a record of a TinyJit without running kernels. The AST of the record lists the kernels as the function made
// them, and each stage lists them as a later step of the jit left them. A list is right if it leaves the same contents
// as the AST in the buffers of the program (PARAMs), and its memory plan does not make a kernel overwrite an argument
// that it reads. A content is identified by the kernel that stored it and what this kernel read. Returns the fault
// of the first wrong list; if all are right, the fault of a variable with a wrong value, or nullopt. Throws Failure if
// a list cannot be checked.
std::optional<ScheduleFault> find_jit_fault(const Session& session, const GoldenRecord& record, Release release,
                                            const TensorParameters& parameters);

}  // namespace tgc
