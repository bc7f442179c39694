// ExecuteObserver: receives the events of lib/execute, which prints nothing itself. A front end derives from it to show
// progress and what tinygrad prints with DEBUG. Every default does nothing. Calls come one at a time; progress() may
// come from any thread.
#pragma once
#include <span>
#include <string>

#include "lib/compilation/outputs.h"
#include "lib/target/target.h"
#include "passes/program.h"
#include "passes/tensor/schedule.h"

namespace tgc {

class ExecuteObserver {
 public:
  virtual ~ExecuteObserver() = default;

  // The current activity, for a line of progress: "compiling kernels: 3 of 70".
  virtual void progress(const std::string& /*what*/) {}
  // A tensor graph was scheduled in that many seconds.
  virtual void scheduled(const TensorJob& /*job*/, const Schedule& /*schedule*/, double /*seconds*/) {}

  // Returns whether to call kernel_begins, kernel_lowered and kernel_ran. If so, each kernel is lowered just before it
  // first runs, as in tinygrad; otherwise all kernels are lowered in parallel before the first kernel runs.
  virtual bool watches_kernels() const { return false; }
  virtual void kernel_begins(UOp /*ast*/) {}
  // The kernel is lowered to `sink`; `outputs` makes its list, source and code on demand. An error stops the run.
  virtual Status kernel_lowered(UOp /*sink*/, KernelOutputs& /*outputs*/) { return Unit{}; }
  // The kernel has run. `bytes` is the size of all buffers used so far, `seconds` the times of its timed runs.
  virtual void kernel_ran(const ProgramInfo& /*info*/, const Target& /*target*/, double /*bytes*/,
                          std::span<const double> /*seconds*/) {}

  // Returns whether each run of a kernel in a schedule is timed, for the argument `seconds` of kernel_ran().
  virtual bool times_kernels() const { return false; }
};

}  // namespace tgc
