#pragma once
#include <optional>

#include "lib/compilation/pipeline.h"
#include "lib/validate/local_race.h"

namespace tgc {

// The stage of 0.14 and later that adds barriers.
inline constexpr std::string_view kBarrierStageName = "add implicit barriers";

// Returns a race between threads of the recorded linear list, if it can be checked. A race between a load and a later
// store counts only if the record has the stage kBarrierStageName, because earlier releases add no barrier for it.
std::optional<LocalRace> find_recorded_race(Pipeline& pipeline);

}  // namespace tgc
