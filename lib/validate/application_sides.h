// Chooses the two expressions that decide whether a rewrite is right, and evaluates them in REF
// (rewrite_equivalence.h).
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/compilation/rewrite_log.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// Returns the sides to compare for each application in `list`, which the compilation `c` made; with `wanted`, only for
// the applications for which it returns true. Adds to `wrong` the indices of results whose sides differ for certain.
// Call it in an UninstrumentedScope, because it makes nodes by substitution.
std::vector<Sides> sides_of_applications(Compilation& c, std::span<const Application> list, std::vector<size_t>& wrong,
                                         const std::function<bool(const Application&)>& wanted = {});

// Returns the sides of a list of applications to a kernel, of any release.
std::vector<Sides> sides_of_list(UOp ast, std::span<const Application> list);

// Compares both sides of each application in `list`, which the compilation `c` made. With `wanted`, compares only the
// applications for which it returns true. `arrays` and `variables` are those of the failing run. `seed` selects the
// sample points. Rewrites made for the comparison are not recorded, and a seeded fault does not change them.
Result<std::vector<EquivalenceResult>> evaluate_sides(Compilation& c, std::span<const Application> list,
                                                      const Arrays& arrays, const VariableValues& variables,
                                                      const std::function<bool(const Application&)>& wanted = {},
                                                      uint64_t seed = 1);

// Calls compare_sides() for all pairs at once. If REF cannot run them together, halves the batch, so that one bad pair
// does not prevent the comparison of all other pairs.
Result<std::vector<EquivalenceResult>> compare_in_batches(std::span<const Sides> sides, const Arrays& arrays,
                                                          const VariableValues& variables, uint64_t seed = 1);

}  // namespace tgc
