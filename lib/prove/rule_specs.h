// Specifications of rules whose right sides are C++ functions. A specification is a rule of the same name, with a left
// side that covers the rule's, and with data as its right side. It is proven like other rules, and the C++ function
// must make what it says for each instance of the rule.
#pragma once
#include <vector>

#include "lib/rewrite/rules.h"

namespace tgc {

// Returns the specifications of a rule; empty if it has none. A rule over ops of several arities has one for each.
std::vector<const Rule*> specifications_of(const Rule& rule);

}  // namespace tgc
