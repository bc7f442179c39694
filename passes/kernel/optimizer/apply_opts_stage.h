// The stage "apply opts": the kernel optimized by a given list of opts, or by the heuristics (tinygrad
// codegen/opt/postrange.py: apply_opts).
#pragma once
#include "passes/pipeline.h"

namespace tgc {

// The list is the job's, else the kernel's own opts_to_apply.
// The heuristics run unless NOOPT is set or the kernel has opts already.
UOp apply_opts(KernelJob& job, UOp sink);

// The SINK of a kernel's AST with that list (Opt records) as its KernelInfo's opts_to_apply, as tinygrad's get_program
// puts there what it is given; a kernel without a KernelInfo gets one.
UOp with_opts(UOp sink, std::span<const Arg> opts);

// A rewrite inside: forgets the tags by which SWAP knows what it has replaced.
const RuleSet& swap_remove_tags();

}  // namespace tgc
