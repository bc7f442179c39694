// ddmin over the nodes of a case, with a test that is cheap (the prefilter).
#pragma once
#include <functional>
#include <vector>

#include "lib/reduce/test_case.h"

namespace tgc {

// Removes parts of the nodes of `given` until no node and no tested part can be removed. Returns the case and every
// smaller case on the way, each made from the one before; `may_fail` holds for all but the first. `replacement` gives
// what a removed node becomes (steps.h).
std::vector<TestCase> ddmin(const TestCase& given, UOp (*replacement)(UOp),
                            const std::function<bool(const TestCase&)>& may_fail);

}  // namespace tgc
