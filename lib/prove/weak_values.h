// What becomes of values that are proven in a weak sense only. A comparison, a BITCAST, or a cast to a narrower dtype
// or an integer may make a large difference of a tiny one. So the graph around a weakly proven rewrite decides whether
// its proof holds.
#pragma once
#include <optional>
#include <string>

#include "lib/prove/encode.h"

namespace tgc {

// Returns whether the graph has an op that may make a large difference of a tiny one.
bool has_decisions(UOp root);

// Returns the op of the graph under `root` that depends on `weak`, a value that is proven in this sense only, and that
// the proof does not cover; empty: there is none. A WHERE that chooses between values which are equal where the choice
// changes, as in max(x, 0), does not count.
std::optional<std::string> decision_on(UOp root, UOp weak, FloatSense sense);

}  // namespace tgc
