// Single reduction steps: each makes a case smaller in one place. A case from which no step leads to another failing
// case is the smallest.
#pragma once
#include <functional>
#include <span>

#include "lib/reduce/test_case.h"

namespace tgc {

// Returns the case in a Graph with other settings.
TestCase with_settings(const TestCase& c, const Settings& settings);

using Candidates = std::vector<std::function<TestCase()>>;  // a case without a root if the step is impossible

// Returns the argument of a SINK without opts and names.
Arg plain_info(const TestCase& c);
// A step that removes one kind of irregularity that does not change the structure: changed settings, opts, unusual
// dtypes, large numbers, buffers larger than needed. A case without a root if there is none. The steps that change
// least are first.
using Plainer = TestCase (*)(const TestCase& c);
std::span<const Plainer> plainer_steps();

// Returns the case with constants in place of `values`.
TestCase with_constants(const TestCase& c, std::span<const UOp> values);
// Keep one store of many; none for a graph with one store.
Candidates single_stores(const TestCase& c);
// Returns what replaces a removed node in a case that does not run: its first source of the same dtype (for a RANGE its
// size), or 1; the empty UOp if nothing can.
UOp replacement_of(UOp u);
UOp runnable_replacement_of(UOp u);  // for a case that runs: a RANGE becomes one of its iterations
// Replace the node `u` by a source of its dtype, an existing load, or a constant.
Candidates simpler_nodes(const TestCase& c, UOp u);
// All steps, the largest cuts first.
Candidates all_steps(const TestCase& c);

}  // namespace tgc
