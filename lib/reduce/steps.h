// Single reduction steps. Each step makes a case smaller in one place. A reduction is complete when no step
// leads from its case to another failing case.
#pragma once
#include <functional>
#include <span>

#include "lib/reduce/test_case.h"

namespace tgc {

// Returns a copy of the case in a new Graph with these settings.
TestCase with_settings(const TestCase& c, const Settings& settings);

using Candidates = std::vector<std::function<TestCase()>>;  // return a case without a root if the step is impossible

// Returns a KernelInfo argument for a SINK, without opts and with a standard name.
Arg plain_info(const TestCase& c);
// A step that keeps the graph's structure and simplifies one property of a case: its settings, opts, unusual
// dtypes, large numbers, or buffers larger than needed. Returns a case without a root if there is nothing to
// simplify. plainer_steps() lists these steps, those that change least first.
using Plainer = TestCase (*)(const TestCase& c);
std::span<const Plainer> plainer_steps();

// Returns the case with constants in place of `values`.
TestCase with_constants(const TestCase& c, std::span<const UOp> values);
// Returns steps that keep one of several stores; no step for a graph with one store.
Candidates single_stores(const TestCase& c);
// Returns the node that takes the place of the removed node `u` in a case that is only compiled: the first
// source of `u` with the same dtype (for a RANGE, its size), or the constant 1; the empty UOp if neither fits.
UOp replacement_of(UOp u);
UOp runnable_replacement_of(UOp u);  // for a case that runs: a RANGE becomes one iteration
// Returns steps that replace the node `u` by a source of the same dtype, by another load, or by a constant.
Candidates simpler_nodes(const TestCase& c, UOp u);
// Returns all steps, beginning with those that remove most.
Candidates all_steps(const TestCase& c);

}  // namespace tgc
