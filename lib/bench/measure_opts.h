// Suggests opts that address a reason for slowness, and measures what they gain.
#pragma once
#include <vector>

#include "lib/beam/candidate.h"
#include "lib/bench/reasons.h"
#include "lib/execute/placement.h"

namespace tgc {

// Sets Reason::opts of each reason to the first list of opts that addresses the reason. The list is `applied` with one
// more opt, or with a PADTO and one more opt if no opt applies without. For spills, it is `applied` with a smaller
// UPCAST or UNROLL, or without it. Leaves Reason::opts empty if there is no such list.
void suggest_opts(std::vector<Reason>& reasons, const SearchKernel& kernel, std::span<const Opt> applied);

// For each of the first `most` reasons: compiles and times `applied` and the lists that address the reason, in turns on
// `place`, and compares the result of the fastest list with REF (or, for a kernel that is too large for REF, with the
// device's result without opts). Sets the members of Reason from `opts` on, and sorts the measured reasons by their
// speedup, except where speedups differ by no more than noise. `compile`: see CandidateSpec.
void measure_opts(std::vector<Reason>& reasons, const SearchKernel& kernel, std::span<const Opt> applied,
                  Placement& place, CandidateSpec::Compile compile = {}, size_t most = 3);

}  // namespace tgc
