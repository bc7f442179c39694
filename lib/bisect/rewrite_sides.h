// Evaluates both sides of the rewrites of a compilation in REF (lib/validate/rewrite_equivalence.h).
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/trace/applications.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// Compares the sides of the applications of `c`, all in the list or those that `wanted` selects, in their order. The
// arrays and variables are those of the failing run. `seed` chooses the points. Rewrites made for the comparison are
// not observed, and no seeded fault applies to them.
Result<std::vector<EquivalenceResult>> evaluate_sides(Compilation& c, std::span<const Application> list,
                                                      const Arrays& arrays, const VariableValues& variables,
                                                      const std::function<bool(const Application&)>& wanted = {},
                                                      uint64_t seed = 1);

}  // namespace tgc
