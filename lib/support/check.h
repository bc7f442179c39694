// TGC_CHECK(condition, message) asserts an invariant of tgc itself, in release builds too. It throws a Failure with the
// source file and line; a stage that catches the Failure adds its name, the rule and the node.
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
