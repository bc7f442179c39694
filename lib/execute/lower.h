#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/compilation/outputs.h"
#include "lib/execute/executable.h"
#include "lib/execute/placement.h"
#include "lib/target/target.h"
#include "passes/program.h"
#include "passes/tensor/schedule.h"

namespace tgc {

// Receives the events of lib/execute. By default, a function does nothing or returns false. Calls come one at a time;
// on_progress() may come from any thread.
class ExecuteObserver {
 public:
  virtual ~ExecuteObserver() = default;

  // `what` is the current activity, such as "compiling kernels: 3 of 70".
  virtual void on_progress(const std::string& /*what*/) {}
  virtual void on_schedule_made(const TensorJob& /*job*/, const Schedule& /*schedule*/, double /*seconds*/) {}

  // Returns true if on_kernel_begin() and on_kernel_lowered() are to be called. If so, a schedule's kernels are lowered
  // one by one, each before its first run; else in parallel, before the first kernel runs.
  virtual bool observes_kernels() const { return false; }
  virtual void on_kernel_begin(UOp /*ast*/) {}
  // `outputs` makes the linear list, source and code on demand. An error stops the run.
  virtual Status on_kernel_lowered(UOp /*sink*/, KernelOutputs& /*outputs*/) { return Unit{}; }
  // Called after a kernel with launch facts has run, if should_time_kernels() is true. `bytes` is the size of the
  // buffers used so far.
  virtual void on_kernel_run(const ProgramInfo& /*info*/, const Target& /*target*/, double /*bytes*/,
                             std::span<const double> /*seconds*/) {}

  virtual bool should_time_kernels() const { return false; }
};

// A kernel before lowering or after some stages. The graph and the list must outlive the Executable.
struct KernelGraph {
  UOp root;                               // the AST, or the graph after `stage`
  std::string stage = {};                 // the last stage that has run; empty for an AST
  std::span<const UOp> linear_list = {};  // a linear list that runs in place of `root`
  std::string opts = {};                  // opts for the optimizer, as text (CompilationSpec::opts)
};

struct LowerOptions {
  ExecuteObserver* observer = nullptr;
  // how often each kernel name was used so far; lowering updates this
  std::map<std::string, int>* kernel_name_counts = nullptr;
  double compile_seconds = 0;                         // 0: the compiler's default
};

// Returns the linear list for `target`: `kernel.linear_list` or, if that is empty, the result of the remaining stages.
Result<std::vector<UOp>> lower_kernel(const KernelGraph& kernel, const Target& target,
                                      const LowerOptions& options = {});

// Makes an executable for `place`. REF without a target runs the kernel without lowering it; other placements run the
// linear list.
Result<Executable> make_executable(const KernelGraph& kernel, Placement& place, const LowerOptions& options = {});

}  // namespace tgc
