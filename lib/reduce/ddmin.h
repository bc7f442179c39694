// Delta debugging (Zeller's ddmin) over the nodes of a test case. The interestingness test is usually the prefilter.
#pragma once
#include <functional>
#include <vector>

#include "lib/reduce/test_case.h"

namespace tgc {

// Removes sets of nodes from the case `given`, until no single node can be removed. Returns `given` and every
// smaller case that was accepted; each was made from the case before it, and may_fail() is true for it.
// replacement(u) returns the node that takes the place of a removed node `u` (steps.h).
std::vector<TestCase> ddmin(const TestCase& given, UOp (*replacement)(UOp),
                            const std::function<bool(const TestCase&)>& may_fail);

}  // namespace tgc
