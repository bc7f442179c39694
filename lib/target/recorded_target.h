// The target that a record names.
#pragma once
#include "lib/target/target.h"

namespace tgc {

// As parse_target, but of CUDA and AMD any arch that tinygrad's renderers take, "sm_" and a number or "gfx" and what
// stands behind it: so what was recorded for one is compiled as tinygrad does it.
Result<Target> recorded_target(std::string_view text, const Settings& settings);

}  // namespace tgc
