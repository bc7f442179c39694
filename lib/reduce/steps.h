// The single steps of reduce: each makes a case smaller in one place. When none of them leaves the failure, the case is
// the smallest.
#pragma once
#include <functional>
#include <span>

#include "lib/reduce/test_case.h"

namespace tgc {

// In a Graph with other settings.
TestCase with_settings(const TestCase& c, const Settings& settings);

using Candidates = std::vector<std::function<TestCase()>>;  // an empty graph: the step cannot be made

// What a kernel's SINK says where nothing is left to decide by.
Arg plain_info(const TestCase& c);
// The case without what is odd and no matter to its structure: other settings, opts, dtypes, numbers and buffers larger
// than need be; each alone, those that change least first. Of one that has nothing of it an empty graph.
using Plainer = TestCase (*)(const TestCase& c);
std::span<const Plainer> plainer_steps();

// The case with constants in the place of values.
TestCase with_constants(const TestCase& c, std::span<const UOp> values);
// One store of many; of a graph with one none.
Candidates single_stores(const TestCase& c);
// What a node becomes that is taken out, where nothing will run: its first source of its dtype (of a loop how often it
// goes round), or 1; the empty UOp: it cannot be.
UOp instead_of(UOp u);
UOp instead_within(UOp u);  // the same, but a loop becomes one of its iterations
// A node becomes a source of its dtype, a load that is there, or a constant; at one node.
Candidates simpler_nodes(const TestCase& c, UOp u);
// All steps, the largest cuts first.
Candidates all_steps(const TestCase& c);

}  // namespace tgc
