// From a kernel's graph to an Executable: lowered for a placement's target where it has one, compiled for its device.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/execute/observer.h"
#include "lib/execute/placement.h"

namespace tgc {

// A kernel as it was given. What it points to must outlive the Executable.
struct KernelGraph {
  UOp root;                                   // the AST, or the graph after `stage`
  std::string stage = {};                     // the last stage that has run; empty: none, it is the AST
  std::span<const UOp> list = {};             // a linear list, which is taken as it stands; `root` says nothing then
  std::string opts = {};                      // the optimizer's list as text, as JobSpec::opts
};

struct LowerOptions {
  ExecuteObserver* observer = nullptr;             // told of the kernel where it watches kernels
  std::map<std::string, int>* names = nullptr;     // kernel names given so far; this one's is added
  double compile_seconds = 0;                      // that its compiler may take; 0: as long as any
};

// The linear list for `target`: the stages that have not run yet, then the linearizer. The Diag names the stage that
// refused.
Result<std::vector<UOp>> lower_kernel(const KernelGraph& kernel, const Target& target,
                                      const LowerOptions& options = {});

// The kernel ready for `place`: REF without a target takes the graph as it stands, everything else the linear list.
Result<Executable> make_executable(const KernelGraph& kernel, Placement& place, const LowerOptions& options = {});

}  // namespace tgc
