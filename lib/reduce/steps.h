// Single reduction steps. Each makes a case smaller in one place. The reduction ends at a case from which no step leads
// to another failing case.
#pragma once
#include <functional>
#include <span>

#include "lib/reduce/test_case.h"

namespace tgc {

// Returns a copy of the case in a new Graph with these settings.
TestCase with_settings(const TestCase& c, const Settings& settings);

using Candidates = std::vector<std::function<TestCase()>>;  // a case without a root if the step is impossible

// Returns a KernelInfo argument for a SINK, without opts and with a plain name.
Arg plain_info(const TestCase& c);
// A step that simplifies one property of a case and keeps the graph's structure: settings, opts, unusual dtypes, large
// numbers, or buffers larger than needed. It returns a case without a root if there is nothing to simplify. In
// plainer_steps(), the steps that change least come first.
using Plainer = TestCase (*)(const TestCase& c);
std::span<const Plainer> plainer_steps();

// Returns the case with constants in place of `values`.
TestCase with_constants(const TestCase& c, std::span<const UOp> values);
// Returns steps that keep one of several stores; no step for a graph with one store.
Candidates single_stores(const TestCase& c);
// Returns the node that replaces a removed node in a case that is only compiled: its first source of the same dtype
// (for a RANGE its size), or the constant 1; the empty UOp if neither fits.
UOp replacement_of(UOp u);
UOp runnable_replacement_of(UOp u);  // the same for a case that runs, where a RANGE becomes one of its iterations
// Returns steps that replace the node `u` by a source of its dtype, by an existing load, or by a constant.
Candidates simpler_nodes(const TestCase& c, UOp u);
// Returns all steps, the largest cuts first.
Candidates all_steps(const TestCase& c);

}  // namespace tgc
