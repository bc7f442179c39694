// For unit tests that need something which may be missing on this machine.
#pragma once
#include <doctest/doctest.h>

// Ends the test case if `condition` is true. scripts/ci/count_tests then counts the case as skipped, not as passed.
#define SKIP_TEST_IF(condition, reason)        \
  if (condition) {                             \
    MESSAGE("SKIPPED: ", std::string(reason)); \
    return;                                    \
  }
