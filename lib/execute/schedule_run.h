// ScheduleRunner: runs tensor graphs on a device. The one executor of schedules: models, tensor graphs and what
// building a model's graph has to compute all go through it. It schedules a graph, lowers and compiles each kernel once
// (through the compile cache), plans the memory and runs the kernels in order, in one worker process.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/execute/observer.h"
#include "lib/execute/placement.h"
#include "lib/execute/schedule_memory.h"
#include "lib/runtime/array.h"

namespace tgc {

class ContainedDevice;
class Watcher;

// A buffer of a schedule, by its number, as the array that is wanted of it.
struct WantedArray {
  size_t buffer;
  DType dtype;
  std::vector<int64_t> shape;
};

// One run of a kernel: its arrays data0, data1, ... before and after.
struct KernelStep {
  std::string name;
  size_t number = 0;  // of the kernel in the schedule, from 0; copies and views do not count
  UOp ast;
  VariableValues variables;
  Arrays before, after;
};

struct TimedKernel {
  std::string name;
  size_t item = 0;     // of the schedule
  double seconds = 0;  // of the fastest of the timed runs
};

struct ScheduleOptions {
  bool in_process = false;                                // no worker
  double timeout_seconds = 0;                             // of each kernel; 0: none, but REF's own
  double compile_seconds = 0;                             // that the compiler of a kernel may take; 0: as long as any
  int timed_runs = 0;                                     // of all kernels, after the first, each kernel timed
  // are shown what every kernel is given, also one that cannot be lowered or compiled (its name is then not known), and
  // what it did; may throw Failure
  std::function<void(const KernelStep&)> before_kernel = {}, on_kernel = {};
};

struct ScheduleResult {
  std::vector<Array> values;         // the wanted arrays, in order
  size_t kernels = 0;                // that ran, repeats of one included
  double seconds = 0;                // of the first run of all
  std::vector<TimedKernel> timed;    // by place in the schedule, when runs were timed
  uint64_t bytes_before = 0, bytes_after = 0;  // of the buffers between the kernels: each its own, as planned
};

// Kernels are kept compiled from run to run by their AST, so the graphs that it ran must live as long as it does.
class ScheduleRunner {
 public:
  // `jobs` threads compile. `place` and `observer` outlive this.
  explicit ScheduleRunner(Placement& place, unsigned jobs = 1, ExecuteObserver* observer = nullptr);
  ~ScheduleRunner();

  Placement& place() { return place_; }

  // From now on every operation gets a kernel of its own (unfused.h).
  void do_not_fuse() { fuses_ = false; }

  // Who sees tensor graphs become schedules, or leaves rewrites out; null: nobody.
  void watch(Watcher* watcher) { watcher_ = watcher; }

  // The schedule of the tensor graph under `sink`.
  Result<Schedule> schedule(UOp sink);
  // Runs it. Every input buffer needs a value in `known`. Errors: a kernel that cannot be lowered, compiled or
  // launched, no memory.
  Result<ScheduleResult> run(const Schedule& schedule, const BufferValues& known, std::span<const WantedArray> wanted,
                             const ScheduleOptions& options = {});

 private:
  struct Prepared;
  class Run;
  void prepare_all(const Schedule& schedule);
  Prepared& lowered(UOp ast);
  Prepared& prepare(UOp ast, Device& device);
  void take_along(ContainedDevice& worker, const Schedule& schedule, double timeout_seconds);
  ScheduleResult run_all(const Schedule& schedule, const BufferValues& known, std::span<const WantedArray> wanted,
                         const ScheduleOptions& options);
  ScheduleResult run_on(Device& device, std::vector<Array> values, const Schedule& schedule, const BufferValues& known,
                        std::span<const WantedArray> wanted, const ScheduleOptions& options);

  Placement& place_;
  unsigned jobs_;
  bool fuses_ = true;
  Watcher* watcher_ = nullptr;
  ExecuteObserver& observer_;
  std::unordered_map<UOp, std::unique_ptr<Prepared>> prepared_;
  std::map<std::string, int> names_;  // of kernels, where they are watched
  double compile_seconds_ = 0;        // of the run's options
};

}  // namespace tgc
