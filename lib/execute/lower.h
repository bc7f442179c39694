// Makes an Executable of a kernel's graph: lowers the graph for the placement's target, if it has one, and compiles the
// result for the device.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/execute/observer.h"
#include "lib/execute/placement.h"

namespace tgc {

// A kernel before lowering or after some stages. The graph and the list must outlive the Executable.
struct KernelGraph {
  UOp root;                                   // the AST, or the graph after `stage`
  std::string stage = {};                     // the last stage that has run; empty for an AST
  std::span<const UOp> list = {};             // a linear list, which runs in place of `root`, unchanged
  std::string opts = {};                      // the optimizer's list as text, as JobSpec::opts
};

struct LowerOptions {
  ExecuteObserver* observer = nullptr;             // called for the kernel if its watches_kernels() is true
  std::map<std::string, int>* names = nullptr;     // in and out: how often each kernel name was used so far
  double compile_seconds = 0;                      // time limit of the compiler; 0: the compiler's default limit
};

// Returns the linear list for `target`: runs the stages that have not run yet, then the linearizer. The error names the
// stage that refused the graph.
Result<std::vector<UOp>> lower_kernel(const KernelGraph& kernel, const Target& target,
                                      const LowerOptions& options = {});

// Makes the kernel ready to run at `place`. REF without a target runs the graph itself; every other place runs the
// linear list.
Result<Executable> make_executable(const KernelGraph& kernel, Placement& place, const LowerOptions& options = {});

}  // namespace tgc
