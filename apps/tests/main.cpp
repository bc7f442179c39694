// The entry point of the unit test programs, and source_path() for the tests.
#define DOCTEST_CONFIG_IMPLEMENT
#include "lib/support/testing.h"

#include <doctest/doctest.h>
#include <unistd.h>

namespace tgc {
std::string source_path(const std::string& name) { return TGC_SOURCE_DIR "/" + name; }
}  // namespace tgc

int main(int argc, char** argv) {
  for (int fd = 3; fd < 64; fd++) close(fd);  // ctest left them open, and some tests limit open files
  return doctest::Context(argc, argv).run();
}
