// What tinygrad's kernel search tries on a kernel, and what of it fits (tinygrad codegen/opt/search.py: actions,
// get_kernel_actions).
#pragma once
#include "passes/kernel/optimizer/scheduler.h"

namespace tgc {

// The variables that shape the space, by tinygrad's names.
struct ActionLimits {
  int64_t upcast_max = 256;  // BEAM_UPCAST_MAX: elements of all upcasts and unrolls, a tensor core's left out
  int64_t local_max = 1024;  // BEAM_LOCAL_MAX: threads of a group
  bool padto = false;        // BEAM_PADTO: try PADTO, too
  bool nolocals = false;     // NOLOCALS: try it, too
  int64_t tc = 1;            // TC, and what TC_OPT is for a search
  int64_t tc_opt = 2;
};

// All actions in tinygrad's order: 193, with PADTO 7 more, with NOLOCALS one.
std::vector<Opt> search_actions(Graph& graph, const ActionLimits& limits);

// The kernels that one more of `actions` makes of `kernel`, in the order of the actions: those whose axis exists, that
// are no other spelling of "all of the axis", that apply, and that stay within the limits.
std::vector<Scheduler> kernel_actions(const Scheduler& kernel, std::span<const Opt> actions,
                                      const ActionLimits& limits);

}  // namespace tgc
