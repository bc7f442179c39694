// Delta debugging (Zeller's ddmin) on the nodes of a test case. The test is usually the prefilter.
#pragma once
#include <functional>
#include <vector>

#include "lib/reduce/test_case.h"

namespace tgc {

// Removes sets of nodes from the case `given` until no single node can be removed. A removed node `u` is replaced by
// replacement(u) (steps.h). Returns `given` and then all accepted cases in order: may_fail() is true for each of them,
// and each was made from the previous one.
std::vector<TestCase> ddmin(const TestCase& given, UOp (*replacement)(UOp),
                            const std::function<bool(const TestCase&)>& may_fail);

}  // namespace tgc
