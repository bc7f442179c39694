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

  // Returns whether to call on_kernel_begin() and on_kernel_lowered(). If so, each kernel is lowered just before it
  // first runs (in REF in a worker: all before the first one runs), else in parallel before the first one runs.
  virtual bool observes_kernels() const { return false; }
  virtual void on_kernel_begin(UOp /*ast*/) {}
  // `outputs` makes the linear list, source and code on demand. An error stops the run.
  virtual Status on_kernel_lowered(UOp /*sink*/, KernelOutputs& /*outputs*/) { return Unit{}; }
  // Called after a kernel has run; in a schedule, if should_time_kernels() is true and it has launch facts. `bytes` is
  // the size of the buffers used so far.
  virtual void on_kernel_run(const ProgramInfo& /*info*/, const Target& /*target*/, double /*bytes*/,
                             std::span<const double> /*seconds*/) {}

  virtual bool should_time_kernels() const { return false; }
};

// A kernel before lowering or after some stages. The graph and the list must outlive the Executable.
struct KernelGraph {
  UOp root;                               // the AST, or the graph after `stage`
  std::string stage = {};                 // the last stage that has run; empty for an AST
  std::span<const UOp> linear_list = {};  // a list that runs in place of `root`, unchanged
  std::string opts = {};                  // opts for the optimizer, as text (CompilationSpec::opts)
};

struct LowerOptions {
  ExecuteObserver* observer = nullptr;
  std::map<std::string, int>* kernel_name_counts = nullptr;  // how often each kernel name was used so far; updated
  double compile_seconds = 0;                         // 0: the compiler's default
};

// Returns the linear list for `target`. The error names the stage that refused the graph.
Result<std::vector<UOp>> lower_kernel(const KernelGraph& kernel, const Target& target,
                                      const LowerOptions& options = {});

// REF without a target runs the kernel as it is, a graph or a linear list; other places run the linear list.
Result<Executable> make_executable(const KernelGraph& kernel, Placement& place, const LowerOptions& options = {});

}  // namespace tgc
