// Parses the target of a recording.
#pragma once
#include "lib/target/target.h"

namespace tgc {

// Like parse_target, but accepts every CUDA arch "sm_<number>" and every AMD arch "gfx...", as tinygrad's renderers do.
// So a recording for an arch that tgc does not list is compiled as tinygrad compiled it.
Result<Target> recorded_target(std::string_view text, const Settings& settings);

}  // namespace tgc
