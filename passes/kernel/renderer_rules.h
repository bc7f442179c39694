// The renderer-specific rules: dtypes that the renderer lacks, vectors that it cannot print, addressing of memory
// (tinygrad's Renderer.extra_matcher). renderer_rules/ has one file per renderer family.
#pragma once
#include "lib/rewrite/rules.h"
#include "lib/target/target.h"

namespace tgc {

// Returns the rules of the target's renderer, for the stage "final rewrite".
const RuleSet& extra_matcher(const Target& target);

}  // namespace tgc
