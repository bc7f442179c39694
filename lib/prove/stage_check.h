#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/prove/prove_kernel.h"

namespace tgc {

// Runs the graphs after stages, and the recorded linear list, in REF and updates the verdicts: unproven rewrites of
// right stages become sampled or unknown, unless other inputs refute them; a rewrite or finding of a wrong stage
// becomes refuted and shows the stored values. With `should_check_stages`, also runs stages if all rewrites are proven.
// Throws Failure, for example, if the time is over.
void check_stages(KernelProof& proof, UOp ast, bool should_check_stages);

// Sets refuted rewrites to unknown whose sides may differ although the stage is right, unless a run of the stage
// refuted them. Such a rewrite moves elements between loops or, unless check_stages() ran (`has_run`), replaces Invalid
// by a value.
void mark_isolated_sides_unknown(KernelProof& proof, bool has_run);

// Sets a refuted rewrite to unknown. Its reason becomes a text with the counterexample and `reason`.
void set_verdict_unknown(RewriteProof& r, std::string_view reason);

RewriteProof& add_finding(KernelProof& proof, size_t stage, RewriteProof::Kind kind, std::string why);
std::vector<RewriteProof*> rewrites_of(KernelProof& proof, size_t stage);

}  // namespace tgc
