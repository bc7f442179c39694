// Decides by runs of REF what the proofs of a kernel's rewrites leave open: the graphs after the stages must store what
// the AST stores, at usual inputs and at those that are likely to show a wrong rewrite.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/prove/prove_kernel.h"

namespace tgc {

// Runs the graph after each stage, and the linear list. Rewrites and findings of stages that are right become sampled,
// those of a wrong one refuted, with what is stored in the counterexample. With `checks_stages`, also runs the stages
// of a kernel whose rewrites are all proven. Throws Failure if REF fails or the time is over.
void check_stages(KernelProof& proof, UOp ast, bool checks_stages);

// Rules of the scheduler and substitutions by a stage move elements between loops, so that the sides of one rewrite
// alone need not be equal; and a value in place of Invalid is right where a node above it has the same condition. So
// only a run of the stage refutes such a rewrite. `has_run`: whether check_stages() ran.
void doubt_isolated_sides(KernelProof& proof, bool has_run);

// Says where the sides of a rewrite differ, and why it is not refuted.
void set_unknown(RewriteProof& r, std::string_view reason);

// Adds a finding about a whole stage.
RewriteProof& add_finding(KernelProof& proof, size_t stage, RewriteProof::Kind kind, std::string why);
// Returns the rewrites of a stage.
std::vector<RewriteProof*> rewrites_of(KernelProof& proof, size_t stage);

}  // namespace tgc
