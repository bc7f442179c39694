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

// Returns one side of a rewrite as text: index and integer expressions as one line, other nodes as a tree.
std::string side_text(UOp u);

// Returns a node and the nodes below it as a tree of `depth` levels. Folds repeated lines and truncates long trees.
std::string tree_text(UOp u, int depth);

// Sets the fields of `verdict` that identify the rewrite `a`: stage, rule, branch, location, number and both sides.
void name_rewrite(const Application& a, Verdict& verdict);

// Returns text such as "number 2 of substitute in 'cut store ranges', lib/rewrite/substitute.cpp:37".
std::string rewrite_text(const Application& a);

// Returns the first constant in either side that its dtype cannot represent, as "8193.0 of dtypes.half"; else "".
std::string unrepresentable_constant(const Application& a);

// Returns how the dtypes or numbers of elements of the two sides differ (EquivalenceResult::Kind::Unlike), as text.
std::string shape_difference(const Application& a);

}  // namespace tgc
