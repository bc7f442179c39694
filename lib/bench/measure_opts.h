// Suggests opts that address a reason for slowness, and measures what they gain.
#pragma once
#include <vector>

#include "lib/beam/candidate.h"
#include "lib/bench/reasons.h"
#include "lib/execute/placement.h"

namespace tgc {

// Sets SlownessReason::opts to the most promising list of opts that addresses the reason: `applied` with one more opt,
// if necessary after a PADTO; for spills, `applied` with a smaller UPCAST or UNROLL, or without it.
void suggest_opts(std::vector<SlownessReason>& reasons, const SearchKernel& kernel, std::span<const Opt> applied);

// Times `applied` and the lists of opts that address each of the first `most` reasons, in turns on `place`. Sets the
// members of SlownessReason from `opts` on to the fastest list with a correct result, and sorts these reasons by
// speedup. Throws Failure if `applied` does not compile. `compile`: see CandidateSpec.
void measure_opts(std::vector<SlownessReason>& reasons, const SearchKernel& kernel, std::span<const Opt> applied,
                  Placement& place, CandidateSpec::Compile compile = {}, size_t most = 3);

}  // namespace tgc
