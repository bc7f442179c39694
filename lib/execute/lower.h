// Makes an Executable of a kernel's graph: lowers the graph for the placement's target, if it has one, and makes the
// result ready for the device. Defines ExecuteObserver.
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

// ExecuteObserver: receives the events of lib/execute, which prints nothing itself. A front end derives from it to show
// progress and what tinygrad prints with DEBUG. By default, a function does nothing or returns false. Calls come one at
// a time; on_progress() may come from any thread.
class ExecuteObserver {
 public:
  virtual ~ExecuteObserver() = default;

  // Receives the current activity, such as "compiling kernels: 3 of 70".
  virtual void on_progress(const std::string& /*what*/) {}
  // Called after a tensor graph was scheduled, which took `seconds`.
  virtual void on_scheduled(const TensorJob& /*job*/, const Schedule& /*schedule*/, double /*seconds*/) {}

  // Returns whether to call on_kernel_begin() and on_kernel_lowered(). If so, the kernels are lowered one after
  // another, each just before it first runs, as in tinygrad (in REF in a worker: all before the first one runs).
  // Otherwise they are lowered in parallel before the first one runs.
  virtual bool watches_kernels() const { return false; }
  virtual void on_kernel_begin(UOp /*ast*/) {}
  // Called when the kernel is lowered to `sink`. `outputs` makes its linear list, source and code on demand. An error
  // stops the run.
  virtual Status on_kernel_lowered(UOp /*sink*/, KernelOutputs& /*outputs*/) { return Unit{}; }
  // Called after a kernel has run; in a schedule, if times_kernels() is true and it has launch facts. `bytes` is the
  // size of all buffers used so far; `seconds` has the time of each timed run.
  virtual void on_kernel_run(const ProgramInfo& /*info*/, const Target& /*target*/, double /*bytes*/,
                             std::span<const double> /*seconds*/) {}

  // Returns whether to time each run of a kernel in a schedule, and to call on_kernel_run().
  virtual bool times_kernels() const { return false; }
};

// A kernel before lowering or after some stages. The graph and the list must outlive the Executable.
struct KernelGraph {
  UOp root;                               // the AST, or the graph after `stage`
  std::string stage = {};                 // the last stage that has run; empty for an AST
  std::span<const UOp> linear_list = {};  // a linear list, which runs in place of `root`, unchanged
  std::string opts = {};                  // opts for the optimizer to apply, as text (see JobSpec::opts)
};

struct LowerOptions {
  ExecuteObserver* observer = nullptr;                // called for the kernel if its watches_kernels() is true
  std::map<std::string, int>* name_counts = nullptr;  // in and out: how often each kernel name was used so far
  double compile_seconds = 0;                         // time limit of the compiler; 0: the compiler's default limit
};

// Returns the linear list for `target`: runs the stages that have not run yet, then the linearizer. The error names the
// stage that refused the graph.
Result<std::vector<UOp>> lower_kernel(const KernelGraph& kernel, const Target& target,
                                      const LowerOptions& options = {});

// Makes the kernel ready to run at `place`. REF without a target runs the kernel as it is, a graph or a linear list;
// every other place runs the linear list.
Result<Executable> make_executable(const KernelGraph& kernel, Placement& place, const LowerOptions& options = {});

}  // namespace tgc
