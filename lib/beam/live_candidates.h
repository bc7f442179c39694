// Compiles the candidates of a search in the tinygrad of a session with --live, which applies the opts itself.
#pragma once
#include "lib/beam/candidate.h"
#include "lib/driver/session.h"
#include "lib/execute/placement.h"

namespace tgc {

// Returns the function for CandidateSpec::compile_candidate; an empty one if the session has no live pipeline. `in` is
// the kernel as the live tinygrad compiled it, imported. `session`, `in` and `place` must outlive the function. It
// throws Failure.
CandidateSpec::Compile compile_live(const Session& session, const InputGraph& in, Placement& place);

}  // namespace tgc
