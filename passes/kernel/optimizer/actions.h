// The actions (opts) that tinygrad's kernel search tries on a kernel (tinygrad codegen/opt/search.py: actions,
// get_kernel_actions).
#pragma once
#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

// The environment variables that define the search space.
struct ActionLimits {
  int64_t upcast_max = 256;  // BEAM_UPCAST_MAX: product of all UPCAST and UNROLL sizes, except a tensor core's
  int64_t local_max = 1024;  // BEAM_LOCAL_MAX: threads per group
  bool padto = false;        // BEAM_PADTO: include PADTO actions
  bool nolocals = false;     // NOLOCALS: include the NOLOCALS action
  int64_t tc = 1;            // TC: whether and how tensor cores are used
  int64_t tc_opt = 2;        // TC_OPT, 0 to 2: how much a kernel may change to fit tensor cores (2: axes are padded)
};

// Returns all actions in tinygrad's order: 193, plus 7 with `padto`, plus 1 with `nolocals`.
std::vector<Opt> search_actions(Graph& graph, const ActionLimits& limits);

// Applies each of `actions` to a copy of `kernel` and returns the resulting kernels in the order of the actions. Skips
// actions that do not apply or exceed the limits. Skips an action with the size of the whole axis if another action has
// amount 0 for that axis.
std::vector<Scheduler> kernel_actions(const Scheduler& kernel, std::span<const Opt> actions,
                                      const ActionLimits& limits);

}  // namespace tgc
