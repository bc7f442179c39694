// check_stages: decides the rewrites that are not proven by runs in REF. The graphs after the stages must store what
// the AST stores, for usual inputs and for inputs that probably show a wrong rewrite (special_inputs.h).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/prove/prove_kernel.h"

namespace tgc {

// Runs the graphs after stages, and the linear list. Undecided rewrites of stages with a right result become sampled,
// and refuted ones unknown or sampled, unless some inputs show that they are wrong. A rewrite or finding of a stage
// with a wrong result becomes refuted, and its counterexample has the stored values; other refuted rewrites of this
// stage become unknown. With `checks_stages`, also runs stages of a kernel whose rewrites are all proven. Throws
// Failure if the time is over.
void check_stages(KernelProof& proof, UOp ast, bool checks_stages);

// Sets refuted rewrites to unknown if their sides may differ although the stage is right, unless a run of the stage
// refuted them. Such rewrites move elements between loops (rules of the scheduler, substitutions by a stage), or
// replace Invalid by a value, which is right if a user of the node has the same condition. `has_run`: check_stages()
// ran, which decides the rewrites of Invalid.
void doubt_isolated_sides(KernelProof& proof, bool has_run);

// Sets a refuted rewrite to unknown. Its reason becomes a text with the counterexample and `reason`.
void set_unknown(RewriteProof& r, std::string_view reason);

// Adds a finding about a whole stage.
RewriteProof& add_finding(KernelProof& proof, size_t stage, RewriteProof::Kind kind, std::string why);
// Returns the rewrites of a stage.
std::vector<RewriteProof*> rewrites_of(KernelProof& proof, size_t stage);

}  // namespace tgc
