// prove_schedule: decides the recorded schedule of a tensor graph by proofs of its rewrites, and by runs of its stages
// and kernels in REF.
#pragma once
#include "lib/driver/session.h"
#include "lib/prove/prove_kernel.h"

namespace tgc {

// Does what prove_recording() does, for a tensor graph. Rules of the scheduler move elements between loops, so the
// sides of most rewrites cannot be compared as values. With options.checks_stages, and if the verdict is still open,
// REF runs each stage at sample inputs, as `tgc run --each-stage` does: if all stages are right, undecided rewrites
// become sampled; if one is wrong, a refuted finding is added.
std::unique_ptr<KernelProof> prove_schedule(const Session& session, const InputGraph& in, ProofCache& cache,
                                            const KernelProofOptions& options = {});

}  // namespace tgc
