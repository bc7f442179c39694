// The single steps of a reduction. Each makes a case smaller in one place. A reduction is complete when no step gives
// another failing case.
#pragma once
#include <functional>
#include <span>

#include "lib/reduce/test_case.h"

namespace tgc {

// Returns a copy of the case in a new Graph with these settings.
TestCase with_settings(const TestCase& c, const Settings& settings);

// Steps that make candidates. A step that is impossible returns a case without a root.
using Candidates = std::vector<std::function<TestCase()>>;

// Returns a KernelInfo for a SINK, with a standard name and without opts.
Arg plain_info(const TestCase& c);
// A step that simplifies one property of a case but keeps the structure of the graph: settings, opts, rare dtypes,
// large numbers, or sizes of buffers. Returns a case without a root if there is nothing to simplify. plainer_steps()
// returns all these steps, beginning with those that change least.
using Plainer = TestCase (*)(const TestCase& c);
std::span<const Plainer> plainer_steps();

// Returns the case with each node in `values` replaced by a constant.
TestCase with_constants(const TestCase& c, std::span<const UOp> values);
// Returns a step for each store, which keeps only this store; no steps if there is only one store.
Candidates single_stores(const TestCase& c);
// Returns the node that replaces the removed node `u` in a case that is only compiled: the first source with the dtype
// of `u` (for a RANGE, its size) or, if there is none, the constant 1; the empty UOp if neither is possible.
UOp replacement_of(UOp u);
// Returns the same for a case that runs, except that a RANGE is replaced by its first iteration.
UOp runnable_replacement_of(UOp u);
// Returns steps that replace the node `u` by a source with its dtype, by another load, or by a constant.
Candidates simpler_nodes(const TestCase& c, UOp u);
// Returns all steps, beginning with those that remove the most nodes.
Candidates all_steps(const TestCase& c);

}  // namespace tgc
