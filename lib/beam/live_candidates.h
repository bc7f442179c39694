// Compiles candidates in the tinygrad of a session with --live.
#pragma once
#include "lib/beam/candidate.h"
#include "lib/driver/session.h"
#include "lib/execute/placement.h"

namespace tgc {

// Returns a function that compiles the kernel `in` with given opts for `place`, or an empty function if the session's
// compiler leaves no opts to tinygrad. `session`, `in` and `place` must outlive the returned function.
CandidateSpec::Compile make_live_compile(const Session& session, const InputGraph& in, Placement& place);

}  // namespace tgc
