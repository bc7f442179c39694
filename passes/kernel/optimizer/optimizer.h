// The stage "apply opts", the image stages, and the actions of kernel search (tinygrad codegen/opt/postrange.py:
// apply_opts).
#pragma once
#include <functional>

#include "passes/kernel/optimizer/scheduler.h"
#include "passes/pipeline.h"

namespace tgc {

// Runs the stage "apply opts"; returns `sink` unchanged if it is tagged, that is, already optimized. The opts come from
// job.opts, else from the kernel's opts_to_apply, else from find_opts(). Without a list of opts, the heuristics run,
// unless NOOPT is set or the kernel already has applied opts or BUFFERIZEs. Throws KernelOptError if an opt that must
// be applied does not fit.
UOp apply_opts(KernelJob& job, UOp sink);

// Returns `sink` with `opts` (Opt records) as opts_to_apply in its KernelInfo, which is created if missing
// (codegen/__init__.py:get_program).
UOp sink_with_opts(UOp sink, std::span<const Arg> opts);

// The rules of a nested rewrite of the opt SWAP, which remove all tags.
const RuleSet& swap_remove_tags();

// A hook that supplies opts from an earlier kernel search, like tinygrad's disk cache under BEAM.

// Returns the opts found for `kernel`; nullopt if none were found. May be called on any thread.
using FindOptsHook = std::function<std::optional<std::vector<Opt>>(const Scheduler& kernel)>;

// Installs the hook. Call it once, before any kernel is compiled.
void set_find_opts(FindOptsHook find);
// Returns the result of the hook; nullopt without a hook.
std::optional<std::vector<Opt>> find_opts(const Scheduler& kernel);

// Returns the kernel with the opts that the heuristics choose for its target (tinygrad codegen/opt/heuristic.py). Skips
// an optional opt that does not fit; throws KernelOptError for a mandatory one.
Scheduler hand_coded_optimizations(const Scheduler& k);

// Image buffers: with IMAGE=1, float32 buffers of fitting size in kernels for CL and QCOM become images of four
// channels per pixel (tinygrad codegen/opt/postrange.py:make_images).
bool has_image_stages(const KernelJob& job);  // true if the two image stages run for this kernel

const RuleSet& pm_create_image_buffers();           // context: ImageBufferDTypes
const RuleSet& pm_remove_unfoldable_image_stores();  // context: ImageBufferDTypes

UOp create_image_buffers(KernelJob& job, UOp sink);
UOp remove_unfoldable_image_stores(KernelJob& job, UOp sink);

// The actions (opts) that tinygrad's kernel search tries on a kernel (tinygrad codegen/opt/search.py: actions,
// get_kernel_actions).

// The environment variables that define the search space.
struct ActionLimits {
  int64_t upcast_max = 256;  // BEAM_UPCAST_MAX: greatest product of UPCAST and UNROLL sizes, without a tensor core's
  int64_t local_max = 1024;  // BEAM_LOCAL_MAX: greatest number of threads per group
  bool should_include_padto = false;  // BEAM_PADTO: include PADTO actions
  bool should_include_nolocals = false;  // NOLOCALS: include the NOLOCALS action
  int64_t tc = 1;            // TC: 0 off, 1 on, 2 split the axes for a tensor core but emit no WMMA
  // TC_OPT, the second number of the arg of each TC action except the first, whose number is 0. The TC opt pads axes
  // only if this number is 2.
  int64_t tc_opt = 2;
};

// Returns all actions in tinygrad's order. `limits` decides whether PADTO and NOLOCALS are among them, and gives
// the args of TC.
std::vector<Opt> search_actions(Graph& graph, const ActionLimits& limits);

// Applies each of `actions` to a copy of `kernel` and returns the resulting kernels. Skips actions that do not apply,
// exceed the limits, or repeat another action with the amount 0, which means the whole axis.
std::vector<Scheduler> kernel_actions(const Scheduler& kernel, std::span<const Opt> actions,
                                      const ActionLimits& limits);

}  // namespace tgc
