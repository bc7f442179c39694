// Decides the recorded schedule of a tensor graph by its rewrites, and by what its stages and kernels compute in REF.
#pragma once
#include "lib/driver/session.h"
#include "lib/prove/prove_kernel.h"

namespace tgc {

// Like prove_recording(), for a tensor graph. Rules of the scheduler move elements between loops, so most of their
// rewrites have no values alone. With options.checks_stages, REF runs each stage at sample inputs, as `tgc run
// --each-stage` does: rewrites that are not decided become sampled if all is right, and a wrong stage is refuted.
std::unique_ptr<KernelProof> prove_schedule(const Session& session, const InputGraph& in, ProofCache& cache,
                                            const KernelProofOptions& options = {});

}  // namespace tgc
