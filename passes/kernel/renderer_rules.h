// What each renderer wants besides the common rules: dtypes that it computes in another one, vectors that it cannot
// print, memory that it addresses in its own way (tinygrad's Renderer.extra_matcher).
// One file a renderer in renderer_rules/.
#pragma once
#include "lib/rewrite/rules.h"
#include "lib/target/target.h"

namespace tgc {

// The rules of a target's renderer, the last ones of the stage "final rewrite".
const RuleSet& extra_matcher(const Target& target);

}  // namespace tgc
