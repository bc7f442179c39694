#include "lib/support/crash_context.h"

#include <doctest/doctest.h>

#include <string>

namespace tgc {

TEST_CASE("crash contexts nest") {
  CHECK(current_crash_context() == "");
  {
    CrashContext outer("outer");
    {
      CrashContext inner(std::string(2 * CrashContext::kMaxContextBytes, 'i'));
      CHECK(current_crash_context() == std::string(CrashContext::kMaxContextBytes, 'i'));
    }
    CHECK(current_crash_context() == "outer");
  }
  CHECK(current_crash_context() == "");
}

}  // namespace tgc
