// Evaluates both sides of the rewrites of a compilation in REF (lib/validate/rewrite_equivalence.h), and prints them.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "lib/bisect/verdict.h"
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

// Returns a node as a tree of that depth: repeated lines are folded, long trees truncated.
std::string tree_text(UOp u, int depth);

// Sets stage, rule, branch, location, position and both sides of the rewrite.
void name_rewrite(const Application& a, Verdict& verdict);

// "number 2 of substitute in 'cut store ranges', lib/rewrite/substitute.cpp:37"
std::string rewrite_text(const Application& a);

// Returns the first whole number in either side that its dtype cannot represent, "8193.0 of dtypes.half"; else "".
std::string unrepresentable_constant(const Application& a);

// How dtypes or numbers of elements of the sides differ (EquivalenceResult::Kind::Unlike).
std::string shape_difference(const Application& a);

}  // namespace tgc
