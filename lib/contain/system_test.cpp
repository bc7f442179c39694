#include "lib/contain/system.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

using namespace tgc;

TEST_CASE("system: the ends of a pipe are closed on exec, and signals have names") {
  int ends[2];
  REQUIRE(make_pipe(ends));
  for (int end : ends) {
    CHECK((fcntl(end, F_GETFD) & FD_CLOEXEC) != 0);
    close(end);
  }
  CHECK(signal_name(SIGSEGV) == "SIGSEGV");
  CHECK(signal_name(SIGXCPU) == "SIGXCPU");
  CHECK(signal_name(1000) == "signal 1000");
}
