// Compiles candidates in the tinygrad of a session with --live.
#pragma once
#include "lib/beam/candidate.h"
#include "lib/driver/session.h"
#include "lib/execute/placement.h"

namespace tgc {

// Returns an empty function if tgc applies the opts. `in` is the kernel. `session`, `in` and `place` must outlive the
// function.
CandidateSpec::Compile make_live_compile(const Session& session, const InputGraph& in, Placement& place);

}  // namespace tgc
