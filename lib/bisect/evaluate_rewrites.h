// The look: what both sides of each rewrite of a compilation compute, evaluated in REF (lib/validate/rewrite_equivalence.h).
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "lib/compilation/compilation.h"
#include "lib/trace/applications.h"
#include "lib/validate/rewrite_equivalence.h"

namespace tgc {

// What both sides of applications of that compilation compute, of all in the list or of those that are wanted, in that
// order. No fault is in what is made for the comparison. Of another `seed` it is computed at other points.
Result<std::vector<EquivalenceResult>> look_at(Compilation& c, std::span<const Application> list, const Arrays& arrays,
                                  const VariableValues& variables,
                                  const std::function<bool(const Application&)>& wanted = {}, uint64_t seed = 1);

}  // namespace tgc
