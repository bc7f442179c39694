// The single steps of a reduction, which make a case smaller. A reduction is complete when no step gives another
// failing case.
#pragma once
#include <functional>
#include <span>

#include "lib/reduce/test_case.h"

namespace tgc {

TestCase copy_with_settings(const TestCase& c, const Settings& settings);

// A step that is impossible returns a case without a root.
using Candidates = std::vector<std::function<TestCase()>>;

// Returns the KernelInfo of the case's SINK without opts; after a stage, a new KernelInfo with a standard name.
Arg info_without_opts(const TestCase& c);
// A step that simplifies one property of a case but keeps the structure of the graph. Returns a case without a root, or
// an equal one, if there is nothing to simplify. all_simplifications() returns all these steps, beginning with those
// that change least.
using Simplification = TestCase (*)(const TestCase& c);
std::span<const Simplification> all_simplifications();

TestCase replace_by_constants(const TestCase& c, std::span<const UOp> values);
// Returns a step for each STORE or END among several sources of a SINK or GROUP, which keeps only this source.
Candidates single_store_cases(const TestCase& c);
// Returns the node that replaces the removed node `u`: the first source with the dtype of `u` (for a RANGE, its size)
// or, if there is none, the constant 1; the empty UOp if neither is possible.
UOp replacement_of_node(UOp u);
// Returns the node that replaces `u` in a case that runs: the result of replacement_of_node(), but for a RANGE or
// SPECIAL the number of its second iteration (0 if there is only one).
UOp runnable_replacement_of(UOp u);
// Returns steps that make the node `u` simpler, such as replacing it by another node with its dtype or by a constant.
Candidates simpler_node_cases(const TestCase& c, UOp u);
// Returns the single steps: most of those on the whole case, then those at nodes, beginning with the nodes that
// dominate the most others, then those that change all dtypes or buffers. `c` must outlive them.
Candidates all_candidates(const TestCase& c);

}  // namespace tgc
