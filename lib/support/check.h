// TGC_CHECK(condition, message): a broken invariant is our bug. It throws a Failure that names file and line; a stage
// that catches it adds its own name, the rule and the node. It stays on in release builds.
#pragma once
#include <string>

namespace tgc {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);
}

#define TGC_CHECK(condition, message)                                                \
  do {                                                                               \
    if (!(condition)) [[unlikely]]                                                   \
      ::tgc::check_failed(__FILE__, __LINE__, #condition, message);                  \
  } while (0)
