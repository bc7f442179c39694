#include "lib/contain/contain.h"
#include "lib/support/arena.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <new>
#include <set>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace tgc {
namespace {

std::string message(const std::function<Result<std::string>(Worker&)>& body, const ContainOptions& options = {},
                    WorkerExit* worker_exit = nullptr) {
  auto r = run_in_sandbox(body, options, worker_exit);
  return r ? "answered" : r.diag().message;
}

TEST_CASE("contain: returns answers and errors; the worker's changes to memory stay in the worker") {
  int changed = 0;
  std::string big(5000000, 'x');
  auto r = run_in_sandbox([&](Worker&) -> Result<std::string> {
    changed = 1;
    return big + "end";
  });
  REQUIRE(r.ok());
  CHECK(*r == big + "end");
  CHECK(changed == 0);
  CHECK(message([](Worker&) -> Result<std::string> { return Diag{"no such thing"}; }) == "no such thing");
  CHECK(message([](Worker&) -> Result<std::string> { throw Failure("thrown"); }) == "thrown");
  CHECK(message([](Worker&) -> Result<std::string> { throw std::bad_alloc(); }) == "out of memory");
  CHECK(message([](Worker&) -> Result<std::string> { throw std::length_error("x"); }).starts_with("out of memory"));
  CHECK(message([](Worker&) -> Result<std::string> {
          throw std::system_error(EAGAIN, std::generic_category(), "no thread");
        }) == "no thread: Resource temporarily unavailable");
  auto empty = run_in_sandbox([](Worker&) -> Result<std::string> { return std::string(); });
  CHECK((empty.ok() && empty->empty()));
}

TEST_CASE("contain: a worker's arenas do not use the parent's pooled huge pages") {
  auto fill = [](char with) {
    Arena arena;
    for (int i = 0; i < 100; i++)
      std::memset(arena.allocate(Arena::kArenaBlockSize / 8), with, Arena::kArenaBlockSize / 8);
    for (int i = 0; i < 1000; i++) std::memset(arena.allocate(Arena::kLargeSize / 2), with, Arena::kLargeSize / 2);
    return std::to_string(arena.total_bytes());
  };
  const std::string here = fill('a');
  for (int round = 0; round < 3; round++) {
    auto there = run_in_sandbox([&](Worker&) -> Result<std::string> { return fill('b'); });
    CHECK(there.value_or_throw() == here);
    CHECK(fill('c') == here);
  }
}

TEST_CASE("contain: the error names how the worker died") {
  if (kIsSanitized) {
    MESSAGE("SKIPPED: the sanitizers handle the signals themselves");
    return;
  }
  WorkerExit worker_exit;
  volatile int zero = 0;
  CHECK(message([&](Worker&) -> Result<std::string> { return std::to_string(7 / zero); }, {}, &worker_exit)
        .starts_with("killed by SIGFPE (integer division by zero at 0x"));
  CHECK(worker_exit.signal == SIGFPE);
  int* volatile nowhere = reinterpret_cast<int*>(64);
  CHECK(message([&](Worker&) -> Result<std::string> { return std::to_string(*nowhere); }) ==
        "killed by SIGSEGV (access to unmapped memory at 0x40)");
#ifdef __x86_64__
  auto* volatile odd = reinterpret_cast<int*>(0x8000000000000000);  // not canonical: the CPU reports no address
  CHECK(message([&](Worker&) -> Result<std::string> {
          return std::to_string(*odd);
        }).starts_with("killed by SIGSEGV (misaligned vector access, or"));
#endif
  CHECK(message([](Worker&) -> Result<std::string> { abort(); }) == "killed by SIGABRT (the process aborted itself)");
  CHECK(message(
            [](Worker&) -> Result<std::string> {
              raise(SIGKILL);
              return std::string();
            },
            {}, &worker_exit) == "killed by SIGKILL (from outside: most likely the system ran out of memory)");
  CHECK((worker_exit.signal == SIGKILL && !worker_exit.has_timed_out));
  CHECK(message([](Worker&) -> Result<std::string> { _exit(3); }) ==
        "its process ended with exit code 3 and without an answer");
  auto begin = std::chrono::steady_clock::now();
  CHECK(message(
            [](Worker&) -> Result<std::string> {
              for (;;) pause();
            },
            {.timeout_seconds = 0.1}, &worker_exit) == "did not end within 0.1 seconds");
  CHECK(worker_exit.has_timed_out);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("contain: all waits together end at the current deadline") {
  auto begin = Clock::now();
  DeadlineScope scope(0.3);
  for (double seconds : {10.0, 0.0, 10.0}) {
    WorkerExit worker_exit;
    auto sleep = [](Worker&) -> Result<std::string> {
      for (;;) pause();
    };
    CHECK(message(sleep, {.timeout_seconds = seconds}, &worker_exit) == "did not end within 0.3 seconds");
    CHECK(worker_exit.has_timed_out);
  }
  CHECK(seconds_since(begin) < 5);
}

TEST_CASE("contain: the timeout restarts whenever progress changes") {
  auto* steps = static_cast<volatile uint64_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  auto run = [&](double length, double allowed) {
    auto worker = WorkerProcess::start([&](Worker& self) -> Status {
      for (int i = 0; i < 4; i++) {
        usleep(useconds_t(1e6 * length));
        *steps = *steps + 1;
      }
      self.send_answer(std::string("done"));
      return Unit{};
    });
    REQUIRE(worker);
    auto answer = worker->receive_answer(allowed, [&] { return uint64_t(*steps); });
    return answer ? *answer : answer.diag().message;
  };
  // Retry with longer times, as a busy machine may be late.
  std::string said = run(0.25, 0.5);
  for (double longer : {2.0, 8.0})
    if (said != "done") said = run(longer / 2, longer);
  CHECK(said == "done");
  CHECK(run(1.5, 0.5) == "did not end within 0.5 seconds");
  munmap(const_cast<uint64_t*>(steps), 4096);
}

TEST_CASE("contain: a worker has no channel to another worker") {
  auto sockets = [] {
    std::set<std::string> out;
    std::error_code error;
    for (auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error))
      if (auto to = std::filesystem::read_symlink(entry, error); to.string().starts_with("socket:")) out.insert(to);
    return out;
  };
  auto before = sockets();
  auto first = WorkerProcess::start([](Worker& self) -> Status {
    self.send_answer(self.next_message());
    return Unit{};
  });
  REQUIRE(first);
  std::set<std::string> to_first;
  std::ranges::set_difference(sockets(), before, std::inserter(to_first, to_first.end()));
  REQUIRE(to_first.size() == 1);
  CHECK(message([&](Worker&) -> Result<std::string> {
          return sockets().contains(*to_first.begin()) ? Result<std::string>(Diag{"it has it"}) : std::string();
        }) == "answered");
  REQUIRE(first->send("still there"));
  CHECK(*first->receive_answer(5) == "still there");
}

TEST_CASE("contain: a worker that exhausts its memory returns an error") {
  if (kIsSanitized) {
    MESSAGE("SKIPPED: the sanitizers reserve more address space than the limit");
    return;
  }
  auto use_up = [](Worker&) -> Result<std::string> {
    rlimit limit{1ull << 30, 1ull << 30};
    setrlimit(RLIMIT_AS, &limit);
    std::vector<std::string> all;
    for (int i = 0; i < 4096; i++) all.emplace_back(1u << 20, 'x');
    return std::to_string(all.size());
  };
  CHECK(message(use_up) == "out of memory");
  CHECK(message([](Worker&) -> Result<std::string> { return std::to_string(std::string(1u << 30, 'x').size()); }) ==
        "answered");  // use_up limited its own worker only
}

std::string confined(const std::function<void()>& work, const ContainOptions& options = {.timeout_seconds = 10}) {
  return message(
      [&](Worker& worker) -> Result<std::string> {
        worker.confine_process({.rights = WorkerRights::Compute, .memory_bytes = 256 << 20, .cpu_seconds = 5});
        work();
        return std::string("done");
      },
      options);
}
std::string may_not(const std::string& call) { return "killed by SIGSYS (it called '" + call + "', which it may not)"; }

TEST_CASE("contain: a worker with Rights::Compute can only compute") {
  if (kIsSanitized || active_sandbox_mechanisms() == "limits") {
    MESSAGE("SKIPPED: there is no seccomp here; active: " << active_sandbox_mechanisms());
    return;
  }
  CHECK(confined([] { std::vector<int> some(1000000, 1); }) == "answered");
  std::string file = "/tmp/tgc-contain-test-" + std::to_string(getpid());
  CHECK(confined([&] { open(file.c_str(), O_WRONLY | O_CREAT, 0600); }) == may_not("openat"));
  CHECK(access(file.c_str(), F_OK) != 0);
  CHECK(confined([] { open("/etc/passwd", O_RDONLY); }) == may_not("openat"));
  CHECK(confined([] { socket(AF_INET, SOCK_STREAM, 0); }) == may_not("socket"));
  CHECK(confined([] { (void)fork(); }) == may_not("clone"));
  CHECK(confined([] { execl("/bin/true", "true", nullptr); }) == may_not("execve"));
  CHECK(confined([] { kill(getppid(), 0); }).starts_with("killed by SIGSYS"));
  CHECK(confined([] { (void)!write(1, "x", 1); }) == may_not("write"));  // a worker may write only to its channel
  CHECK(confined([] {
          for (volatile bool go = true; go;) {
          }
        }, {.timeout_seconds = 0.3}) == "did not end within 0.3 seconds");
  CHECK(confined([] { std::string(uint64_t(100) << 30, 'x'); }) == "out of memory");
  CHECK(confined([] {
          std::function<int(int)> deeper = [&](int n) {
            volatile char room[4096] = {};
            return room[0] + deeper(n + 1) + room[n % 4096];
          };
          deeper(0);
        }).starts_with("killed by SIGSEGV (stack overflow"));
}

TEST_CASE("contain: a fault report names the nearest watched memory and the distance") {
  SKIP_TEST_IF(kIsSanitized, "sanitizers are on");
  auto page = size_t(sysconf(_SC_PAGESIZE));
  auto* two = static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(two + page, page, PROT_NONE);
  std::vector<NamedMemory> named{{"data0", reinterpret_cast<uint64_t>(two + page - 64), 60}};
  std::string text = message([&](Worker& worker) -> Result<std::string> {
    worker.watch_memory(named);
    volatile char* at = two + page + 6;
    return std::to_string(*at);
  });
  CHECK(text.ends_with(": 10 bytes after the end of data0, 60 bytes)"));
  munmap(two, 2 * page);
}

TEST_CASE("contain: a worker with Rights::Driver writes only where it may and cannot start many processes") {
  SKIP_TEST_IF(kIsSanitized || active_sandbox_mechanisms() == "limits",
               "sanitizers are on, or the sandbox has no walls here");
  std::string folder = "/tmp/tgc-room-test-" + std::to_string(getpid()), outside = folder + "-outside";
  mkdir(folder.c_str(), 0700);
  auto driver = [&](const std::function<std::string()>& work) {
    auto r = run_in_sandbox(
        [&](Worker& worker) -> Result<std::string> {
          worker.confine_process({.rights = WorkerRights::Driver, .writable_paths = {folder}});
          return work();
        },
        {.timeout_seconds = 10});
    return r ? *r : r.diag().message;
  };
  auto made = [](const std::string& path) {
    int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    return fd >= 0 ? std::string("made") : std::string(strerrorname_np(errno));
  };
  CHECK(driver([&] { return made(folder + "/inside"); }) == "made");
  CHECK(driver([&] { return made(outside); }) == "EACCES");
  auto net = [] { return std::string(socket(AF_INET, SOCK_STREAM, 0) < 0 ? strerrorname_np(errno) : "made"); };
  CHECK(driver(net) == "EPERM");
  CHECK(driver([&] { return std::to_string(system(("echo x > " + outside + " 2>/dev/null").c_str()) != 0); }) == "1");
  CHECK(access(outside.c_str(), F_OK) != 0);
  CHECK(driver([&] { return kill(getppid(), 0), "killed"; }).starts_with("killed by SIGSYS"));
  auto bomb = [&] {
    for (int i = 0; i < 100; i++)
      if (fork() == 0)
        for (;;) pause();
    for (;;) pause();
    return std::string();
  };
  CHECK(driver(bomb) == "started more processes than a driver needs, and was ended with all of them");
  unlink((folder + "/inside").c_str()), rmdir(folder.c_str());
}

}  // namespace
}  // namespace tgc
