// ExecuteObserver: what lib/execute tells while it works, so that it prints nothing itself. A front end derives from it
// what it wants to show: progress, and what tinygrad prints with DEBUG. Every default does nothing. Calls come one at a
// time; progress() may come from any thread.
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

  // What goes on, for a line of progress: "compiling kernels: 3 of 70".
  virtual void progress(const std::string& /*what*/) {}
  // A tensor graph was scheduled, which took so long.
  virtual void scheduled(const TensorJob& /*job*/, const Schedule& /*schedule*/, double /*seconds*/) {}

  // Whether it wants to see kernels on their way. They are then lowered one after another, each just before it first
  // runs (as tinygrad does), and told of by the three functions below; otherwise in parallel, before the first one
  // runs.
  virtual bool watches_kernels() const { return false; }
  virtual void kernel_begins(UOp /*ast*/) {}
  // It is fully rewritten: `sink`, and what can be made of it. An error refuses the kernel.
  virtual Status kernel_lowered(UOp /*sink*/, KernelOutputs& /*outputs*/) { return Unit{}; }
  // It ran. `bytes` are those of the buffers used so far, `seconds` the times of its timed runs.
  virtual void kernel_ran(const ProgramInfo& /*info*/, const Target& /*target*/, double /*bytes*/,
                          std::span<const double> /*seconds*/) {}

  // Whether each run of a kernel in a schedule shall be timed for kernel_ran.
  virtual bool times_kernels() const { return false; }
};

}  // namespace tgc
