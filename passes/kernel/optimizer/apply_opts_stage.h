// The stage "apply opts": optimizes a kernel with a supplied list of opts, or with the heuristics
// (tinygrad codegen/opt/postrange.py:apply_opts).
#pragma once
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

}  // namespace tgc
