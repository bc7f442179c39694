// Finds data races in shared memory in the kernels that another tinygrad release recorded.
#pragma once
#include <optional>

#include "lib/compilation/pipeline.h"
#include "lib/validate/local_race.h"

namespace tgc {

// The stage of 0.14 and later that adds the barriers.
inline constexpr std::string_view kBarrierStage = "add implicit barriers";

// Returns a race between threads of the recorded linear list; nullopt if there is none, if the list cannot be imported,
// or if the pipeline has no list or no rows. A race between a load and a later store counts only if the record has the
// stage kBarrierStage, because earlier releases add no barrier for it.
std::optional<LocalRace> find_recorded_race(Pipeline& pipeline);

}  // namespace tgc
