// Thinning: ddmin over the nodes of a case, where asking is cheap.
#pragma once
#include <functional>
#include <vector>

#include "lib/reduce/test_case.h"

namespace tgc {

// The case, and what is left of it as parts of its nodes are taken out, until no node of it, and no part that was
// tried, can be. Each may fail, as `may_fail` has it, and is made from the one before; `instead`: what a node becomes
// that is taken out (steps.h).
std::vector<TestCase> thinned(const TestCase& given, UOp (*instead)(UOp),
                              const std::function<bool(const TestCase&)>& may_fail);

}  // namespace tgc
