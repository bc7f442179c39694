#include "lib/runtime/contain.h"
#include "lib/support/sanitized.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <new>
#include <vector>

namespace tgc {
namespace {

std::string message(const std::function<Result<std::string>()>& body, const ContainOptions& options = {},
                    Death* death = nullptr) {
  auto r = contain(body, options, death);
  return r ? "answered" : r.diag().message;
}

TEST_CASE("contain: answers and errors come back whole, changes do not") {
  int changed = 0;
  std::string big(5000000, 'x');
  auto r = contain([&]() -> Result<std::string> {
    changed = 1;
    return big + "end";
  });
  REQUIRE(r.ok());
  CHECK(*r == big + "end");
  CHECK(changed == 0);
  CHECK(message([]() -> Result<std::string> { return Diag{"no such thing"}; }) == "no such thing");
  CHECK(message([]() -> Result<std::string> { throw Failure("thrown"); }) == "thrown");
  CHECK(message([]() -> Result<std::string> { throw std::bad_alloc(); }) == "out of memory");
  auto empty = contain([]() -> Result<std::string> { return std::string(); });
  CHECK((empty.ok() && empty->empty()));
}

TEST_CASE("contain: deaths are told apart") {
  if (kSanitized) {
    MESSAGE("skipped: the sanitizers take the signals themselves");
    return;
  }
  Death death;
  volatile int zero = 0;
  CHECK(message([&]() -> Result<std::string> { return std::to_string(7 / zero); }, {}, &death)
            .starts_with("killed by SIGFPE (integer division by zero at 0x"));
  CHECK(death.signal == SIGFPE);
  int* volatile nowhere = reinterpret_cast<int*>(64);
  CHECK(message([&]() -> Result<std::string> { return std::to_string(*nowhere); }) ==
        "killed by SIGSEGV (access to memory that is not there at 0x40)");
#ifdef __x86_64__
  auto* volatile odd = reinterpret_cast<int*>(0x8000000000000000);  // no address of 48 bits
  CHECK(message([&]() -> Result<std::string> {
          return std::to_string(*odd);
        }).starts_with("killed by SIGSEGV (a vector at an address that is no multiple of its size, or"));
#endif
  CHECK(message([]() -> Result<std::string> { abort(); }).starts_with("killed by SIGABRT (the process aborted itself"));
  CHECK(message(
            []() -> Result<std::string> {
              raise(SIGKILL);
              return std::string();
            },
            {}, &death) == "killed by SIGKILL (from outside: most likely the system ran out of memory)");
  CHECK((death.signal == SIGKILL && !death.timed_out));
  CHECK(message([]() -> Result<std::string> { _exit(3); }) ==
        "its process ended with exit code 3 and without an answer");
  auto begin = std::chrono::steady_clock::now();
  CHECK(message(
            []() -> Result<std::string> {
              for (;;) pause();
            },
            {.timeout_seconds = 0.1}, &death) == "did not end within 0.1 seconds");
  CHECK(death.timed_out);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("contain: a child that runs out of memory says so") {
  if (kSanitized) {
    MESSAGE("skipped: the sanitizers reserve more address space than the limit");
    return;
  }
  auto use_up = []() -> Result<std::string> {
    rlimit limit{1ull << 30, 1ull << 30};
    setrlimit(RLIMIT_AS, &limit);
    std::vector<std::string> all;
    for (int i = 0; i < 4096; i++) all.emplace_back(1u << 20, 'x');
    return std::to_string(all.size());
  };
  CHECK(message(use_up) == "out of memory");
  CHECK(message([]() -> Result<std::string> { return std::to_string(std::string(1u << 30, 'x').size()); }) ==
        "answered");  // this process has no limit
}

}  // namespace
}  // namespace tgc
