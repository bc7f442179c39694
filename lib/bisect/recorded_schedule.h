// Strategy: finds the rewrite of a recorded schedule of another tinygrad release that makes the schedule wrong.
#pragma once
#include "lib/bisect/bisect.h"

namespace tgc {

// Runs the recorded kernels and stages as `tgc run --each-stage` does. If they compute something else than the tensor
// graph, names the first rewrite whose sides differ, in the first wrong stage or in those that cannot be run before it.
// Throws Failure.
void bisect_recorded_schedule(const Session& session, const InputGraph& in, const RunOptions& options,
                              BisectReport& report);

}  // namespace tgc
