// Suggests opts that address a reason for slowness, and measures what they gain.
#pragma once
#include <vector>

#include "lib/beam/candidate.h"
#include "lib/bench/reasons.h"
#include "lib/execute/placement.h"

namespace tgc {

// Sets SlownessReason::opts to the most promising list of opts that addresses the reason, if there is one. The list is
// `applied` with one more opt, if necessary after a PADTO. For spills, the list is `applied` with a smaller UPCAST or
// UNROLL, or without that opt.
void suggest_opts(std::vector<SlownessReason>& reasons, const SearchKernel& kernel, std::span<const Opt> applied);

// Times `applied` and the lists of opts that address each of the first `most` reasons, in turns on `place`. Sets the
// members of SlownessReason from `opts` on for the fastest list that computes the right result. Moves reasons with
// clearly larger measured speedups before the others. Throws Failure, for example, if `applied` does not compile.
// `compile`: see CandidateSpec::compile_candidate.
void measure_opts(std::vector<SlownessReason>& reasons, const SearchKernel& kernel, std::span<const Opt> applied,
                  Placement& place, CandidateSpec::Compile compile = {}, size_t most = 3);

}  // namespace tgc
