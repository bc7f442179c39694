// check_stages: decides, by runs in REF, the rewrites that are not proven. The graphs after the stages must store what
// the AST stores, for usual inputs and for inputs that probably show a wrong rewrite.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/prove/prove_kernel.h"

namespace tgc {

// Runs the graph after each stage, and the linear list. Undecided rewrites and findings of right stages become sampled,
// those of a wrong stage refuted; the counterexample then has the stored values. With `checks_stages`, also runs the
// stages of a kernel whose rewrites are all proven. Throws Failure if REF fails or the time is over.
void check_stages(KernelProof& proof, UOp ast, bool checks_stages);

// Makes refuted rewrites unknown if their sides may differ although the stage is right: rules of the scheduler and
// substitutions by a stage move elements between loops, and a value in place of Invalid is right if a node above it has
// the same condition. Only a run of the stage can refute such a rewrite. `has_run` says that check_stages() ran.
void doubt_isolated_sides(KernelProof& proof, bool has_run);

// Makes a refuted rewrite unknown. Its reason becomes the values for which its sides differ, and `reason`.
void set_unknown(RewriteProof& r, std::string_view reason);

// Adds a finding about a whole stage.
RewriteProof& add_finding(KernelProof& proof, size_t stage, RewriteProof::Kind kind, std::string why);
// Returns the rewrites of a stage.
std::vector<RewriteProof*> rewrites_of(KernelProof& proof, size_t stage);

}  // namespace tgc
