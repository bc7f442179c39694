// Makes a kernel's graph an Executable: lowers it for the placement's target, if there is one, and compiles it for the
// device.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/execute/executable.h"
#include "lib/execute/observer.h"
#include "lib/execute/placement.h"

namespace tgc {

// A kernel as the user gave it. Its graph and list must outlive the Executable.
struct KernelGraph {
  UOp root;                                   // the AST, or the graph after `stage`
  std::string stage = {};                     // the last stage that has run; empty for an AST
  std::span<const UOp> list = {};             // a linear list, which replaces `root` and runs as it stands
  std::string opts = {};                      // the optimizer's list as text, as JobSpec::opts
};

struct LowerOptions {
  ExecuteObserver* observer = nullptr;             // is called if it watches kernels
  std::map<std::string, int>* names = nullptr;     // kernel names so far, to which this one's is added
  double compile_seconds = 0;                      // time limit of the compiler; 0: its own
};

// Returns the linear list for `target`: runs the stages that have not run yet, then the linearizer. The error names the
// stage that refused the graph.
Result<std::vector<UOp>> lower_kernel(const KernelGraph& kernel, const Target& target,
                                      const LowerOptions& options = {});

// Makes the kernel ready for `place`. REF without a target runs the graph as it stands, every other place the linear
// list.
Result<Executable> make_executable(const KernelGraph& kernel, Placement& place, const LowerOptions& options = {});

}  // namespace tgc
