// Specifications of rules whose right sides are C++ functions. A specification is a rule of the same name whose right
// side is data. It is proven like other rules. For each instance of the rule, a specification must make the same node
// as the C++ function, or one that is proven equal.
#pragma once
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// Returns the specifications of a rule, one for each set of ops at the root; an empty list if it has none.
std::vector<const Rule*> specifications_of(const Rule& rule);

}  // namespace tgc
