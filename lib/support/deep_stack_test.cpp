#include "lib/support/deep_stack.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace tgc;

namespace {

int64_t sum_to(int64_t n) {
  if (n == 0) return 0;
  volatile char frame[256] = {};
  auto below = [&] { return sum_to(n - 1); };
  return n + frame[0] + (n % kStackCheckLevels ? below() : call_with_stack(below));
}

void fail_at(int64_t n) {
  if (n == 0) throw std::runtime_error("at the bottom");
  auto below = [&] { fail_at(n - 1); };
  n % kStackCheckLevels ? below() : call_with_stack(below);
}

}  // namespace

TEST_CASE("with_stack: recursion exceeds one stack and exceptions propagate") {
  CHECK(sum_to(300000) == int64_t(300000) * 300001 / 2);
  CHECK_THROWS_WITH(fail_at(200000), "at the bottom");
}
