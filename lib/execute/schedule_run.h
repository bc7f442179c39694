// ScheduleRunner: schedules tensor graphs and runs them on a device, in one worker or in this process.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/execute/lower.h"
#include "lib/execute/placement.h"
#include "lib/runtime/array.h"
#include "passes/tensor/memory_planner.h"

namespace tgc {

class ContainedDevice;
class StageObserver;

// The initial values of buffers by BUFFER node.
using BufferValues = std::unordered_map<UOp, HostData>;

// The memory of a schedule's buffers on a device. Buffers between kernels share memory as the memory planner says.
// Initial values that are large or mapped from a file are used in place, if aligned and if the device takes host
// addresses.
class ScheduleMemory {
 public:
  // `device` must be open and outlive this object. Throws Failure, for example, if `known` has no value for an input
  // buffer, or if memory does not suffice.
  ScheduleMemory(Device& device, bool is_ref, const Schedule& schedule, const BufferValues& known,
                 const Settings& settings);
  ~ScheduleMemory();
  ScheduleMemory(const ScheduleMemory&) = delete;
  ScheduleMemory& operator=(const ScheduleMemory&) = delete;

  // Returns the memory of the buffer with the index `buffer` in Schedule::buffers.
  const DeviceBuffer& at(size_t buffer) const { return device_buffers_[buffer]; }
  const MemoryPlan& plan() const { return memory_plan_; }

 private:
  DeviceBuffer allocate(uint64_t bytes);
  DeviceBuffer store_data(const HostData& data);

  Device& device_;
  bool is_ref_;
  MemoryPlan memory_plan_;
  std::vector<DeviceBuffer> owned_buffers_, device_buffers_;
};

// An array to return: the number of its buffer in the schedule, its dtype and shape.
struct OutputRequest {
  size_t buffer;
  DType dtype;
  std::vector<int64_t> shape;
};

// A run of a kernel, with its arrays data0, data1, ... before and after.
struct ScheduledKernelRun {
  std::string name;
  size_t kernel_number = 0;  // index among the schedule's kernels, without copies and views
  UOp ast;
  VariableValues variables;
  Arrays before, after;
};

struct TimedKernel {
  std::string name;
  size_t item_index = 0;   // index in Schedule::items
  double run_seconds = 0;  // the fastest timed run
};

struct ScheduleOptions {
  bool should_run_in_process = false;
  double timeout_seconds = 0;    // limit for each kernel in a worker; 0: none, but REF stops after Limit::RefSeconds
  // limit for each kernel together with before_kernel and on_kernel, if one of these is set; 0: none
  double trial_seconds = 0;
  double compile_seconds = 0;    // limit for lowering and compiling each kernel; 0: the compiler's default
  int timed_runs = 0;            // number of further runs of the schedule, in which each kernel is timed
  // Called before and after each kernel of the first run of the schedule. May throw Failure. Except for REF in a
  // worker, before_kernel is also called for a kernel that cannot be lowered or compiled, without a name.
  std::function<void(const ScheduledKernelRun&)> before_kernel = {}, on_kernel = {};
};

struct ScheduleResult {
  std::vector<Array> values;
  size_t num_kernels = 0;                      // number of kernels without copies and views
  double run_seconds = 0;                      // time of the first run of the schedule
  std::vector<TimedKernel> timed_kernels;
  // bytes of the buffers between kernels, without and with memory planning
  uint64_t unplanned_bytes = 0, planned_bytes = 0;
};

// Caches compiled kernels by AST node, so the graphs must outlive the runner.
class ScheduleRunner {
 public:
  // Compiles kernels on up to `num_jobs` threads. `place` and `observer` must outlive the runner.
  explicit ScheduleRunner(Placement& place, unsigned num_jobs = 1, ExecuteObserver* observer = nullptr);
  ~ScheduleRunner();

  Placement& placement() { return placement_; }

  // From now on, schedule() makes a kernel for each operation on buffers whose result is not too large to store.
  void disable_fusion() { should_fuse_kernels_ = false; }

  // From now on, `stage_observer` observes the rewrites of scheduling, and may reject them.
  void set_stage_observer(StageObserver* stage_observer) { stage_observer_ = stage_observer; }

  Result<Schedule> schedule(UOp sink);
  // Fails, for example, if `known` lacks an input buffer, if memory does not suffice, if a kernel cannot be lowered,
  // compiled or run to its end, or if a function of `options` throws.
  Result<ScheduleResult> run_schedule(const Schedule& schedule, const BufferValues& known,
                                      std::span<const OutputRequest> wanted, const ScheduleOptions& options = {});

 private:
  struct PreparedKernel;
  class Run;
  void prepare_kernels(const Schedule& schedule);
  PreparedKernel& lowered_kernel(UOp ast);
  PreparedKernel& prepare_kernel(UOp ast, Device& device);
  void prepare_ref_kernels(ContainedDevice& worker, const Schedule& schedule, double timeout_seconds);
  ScheduleResult run_all_kernels(const Schedule& schedule, const BufferValues& known,
                                 std::span<const OutputRequest> wanted, const ScheduleOptions& options);
  ScheduleResult run_on_device(Device& device, std::vector<Array> values, const Schedule& schedule,
                               const BufferValues& known, std::span<const OutputRequest> wanted,
                               const ScheduleOptions& options);

  Placement& placement_;
  unsigned num_threads_;
  bool should_fuse_kernels_ = true;
  StageObserver* stage_observer_ = nullptr;
  ExecuteObserver& observer_;
  std::unordered_map<UOp, std::unique_ptr<PreparedKernel>> prepared_kernels_;
  std::map<std::string, int> kernel_name_counts_;  // how often each kernel name was used, to make names unique
  double compile_seconds_ = 0;
};

}  // namespace tgc
