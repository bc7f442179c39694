// The stage "apply opts": optimizes a kernel with a supplied list of opts, or with the heuristics
// (tinygrad codegen/opt/postrange.py:apply_opts).
#pragma once
#include <functional>

#include "passes/kernel/optimizer/scheduler.h"
#include "passes/pipeline.h"

namespace tgc {

// Runs the stage. The opts come from job.opts, else from the kernel's opts_to_apply, else from find_opts(). If none of
// these has opts, the heuristics run, unless NOOPT is set or the kernel already has opts applied or BUFFERIZEs.
UOp apply_opts(KernelJob& job, UOp sink);

// Returns `sink` with `opts` (Opt records) as opts_to_apply in its KernelInfo, which is created if missing
// (codegen/__init__.py:get_program).
UOp with_opts(UOp sink, std::span<const Arg> opts);

// A nested rewrite of SWAP: removes the tags that mark the ranges that SWAP has replaced.
const RuleSet& swap_remove_tags();

// A hook that supplies opts from an earlier kernel search, like the disk cache that tinygrad reads under BEAM
// (tinygrad codegen/opt/postrange.py:apply_opts).

// Returns the opts found for `kernel`, which has no opts applied yet; nullopt if there are none. Called on any thread.
using FindOpts = std::function<std::optional<std::vector<Opt>>(const Scheduler& kernel)>;

// Installs the hook. Call it once, before any kernel is compiled.
void set_find_opts(FindOpts find);
// Calls the hook; nullopt without a hook. If the result is nullopt, the heuristics choose the opts.
std::optional<std::vector<Opt>> find_opts(const Scheduler& kernel);

}  // namespace tgc
