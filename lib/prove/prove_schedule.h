#pragma once
#include "lib/driver/session.h"
#include "lib/prove/prove_kernel.h"

namespace tgc {

// Does what prove_recording() does, for a tensor graph. With options.should_check_stages, and if the verdict is still
// open, REF runs the stages and kernels at sample inputs: undecided rewrites become sampled if all results are right; a
// wrong result adds a refuted finding.
std::unique_ptr<KernelProof> prove_schedule(const Session& session, const InputGraph& in, ProofCache& cache,
                                            const KernelProofOptions& options = {});

}  // namespace tgc
