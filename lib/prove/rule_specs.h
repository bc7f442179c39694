// Specifications of rules whose right sides are C++ functions. A specification is a rule of the same name, whose left
// side matches all nodes that the rule matches, and whose right side is data. It is proven like other rules. For each
// instance, the C++ function must make the same node, or one that is proven equal.
#pragma once
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// Returns the specifications of a rule, one for each set of ops at the root; an empty list if it has none.
std::vector<const Rule*> specifications_of(const Rule& rule);

}  // namespace tgc
