// Suggests opts that address a reason for slowness, and measures what they gain.
#pragma once
#include <vector>

#include "lib/beam/search.h"
#include "lib/bench/reasons.h"
#include "lib/driver/session.h"
#include "lib/execute/placement.h"

namespace tgc {

// Makes the kernel for which opts are suggested: `in`, the AST of tgc's own or of another release, in tgc's pipeline,
// for `target`. Errors: those of SearchKernel::begin().
Result<SearchKernel> kernel_to_optimize(const Session& session, const InputGraph& in, const std::string& target);

// Sets Reason::opts of each reason to the first list of opts that addresses it: `applied` with one more opt or, for
// spills, without one. Leaves it empty if no opt of this kind applies.
void suggest_opts(std::vector<Reason>& reasons, const SearchKernel& kernel, std::span<const Opt> applied);

// Compiles and times `applied` and the lists that address a reason, for the first `most` reasons, in turns on `place`.
// Compares the result of the fastest list with REF (or, for a kernel that is too large for REF, with the device's
// result without opts). Sets Reason::opts, gain and tried, and sorts the measured reasons by their gain, where gains
// differ by more than 10 %.
void measure_opts(std::vector<Reason>& reasons, const SearchKernel& kernel, std::span<const Opt> applied,
                  Placement& place, size_t most = 3);

}  // namespace tgc
