#include "lib/support/crash_context.h"

#include <doctest/doctest.h>

#include <string>

namespace tgc {

TEST_CASE("crash contexts nest") {
  CHECK(work_of_thread() == "");
  {
    CrashContext outer("outer");
    {
      CrashContext inner(std::string(2 * CrashContext::kMaxContextBytes, 'i'));
      CHECK(work_of_thread() == std::string(CrashContext::kMaxContextBytes, 'i'));
    }
    CHECK(work_of_thread() == "outer");
  }
  CHECK(work_of_thread() == "");
}

}  // namespace tgc
