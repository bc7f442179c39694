// The entry point of tgc_tests, which contains every *_test.cpp of the source tree.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "lib/support/testing.h"

#include <doctest/doctest.h>

namespace tgc {
std::string source_path(const std::string& name) { return TGC_SOURCE_DIR "/" + name; }
}  // namespace tgc
