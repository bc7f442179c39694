// Specifications of rules whose right sides are C++ functions. A specification is a rule of the same name, whose left
// side covers that of the rule, and whose right side is data. It is proven like other rules, and the C++ function must
// make the same node, or one that is proven equal to it, for each instance of the rule.
#pragma once
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// Returns the specifications of a rule, which may have none. A rule for ops of several arities has one for each arity.
std::vector<const Rule*> specifications_of(const Rule& rule);

}  // namespace tgc
