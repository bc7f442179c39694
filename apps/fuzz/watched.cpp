#include "apps/fuzz/watched.h"

#include <cxxabi.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "lib/contain/system.h"
#include "lib/support/sanitized.h"

namespace tgc::fuzz {
namespace {

constexpr rlim_t kMostMemory = rlim_t(4) << 30;

// Prints the stack, then lets the signal end the process.
void show_stack(int signal) {
  void* frames[40];
  int n = backtrace(frames, 40);
  backtrace_symbols_fd(frames, n, STDERR_FILENO);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void prepare_child(int report) {
  dup2(report, STDERR_FILENO);
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (kIsSanitized) return;  // sanitizers handle signals and reserve more address space
  rlimit memory{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &memory);
  static char stack[1 << 16];
  stack_t other{};
  other.ss_sp = stack, other.ss_size = sizeof stack;
  sigaltstack(&other, nullptr);
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction action{};
    action.sa_handler = show_stack, action.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaction(s, &action, nullptr);
  }
}

std::string read_from_start(int fd) {
  std::string out(size_t(std::max<off_t>(lseek(fd, 0, SEEK_END), 0)), '\0');
  ssize_t n = pread(fd, out.data(), out.size(), 0);
  out.resize(size_t(std::max<ssize_t>(n, 0)));
  return out;
}

// Rewrites the stack frame "PROGRAM(_ZN3tgc4nameEv+0x20)[0x...]" as "  in tgc::name". Drops frames without a C++ name
// or in tgc::fuzz. Keeps other lines.
std::string demangle_frame(const std::string& line) {
  size_t open = line.find('('), plus = line.find("+0x", open);
  if (plus == std::string::npos || line.find(")[0x") == std::string::npos) return line + "\n";
  std::string name = line.substr(open + 1, plus - open - 1);
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (!plain) return "";
  name = plain.get();
  return name.find("tgc::fuzz::") == 0 ? "" : "  in " + name.substr(0, name.find('(')) + "\n";
}

std::string demangled_report(int fd) {
  std::string out;
  std::istringstream in(read_from_start(fd));
  for (std::string line; std::getline(in, line);) out += demangle_frame(line);
  return out;
}

}  // namespace

void* map_shared_bytes(size_t size) {
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) std::perror("fuzz: no memory"), std::exit(2);
  return p;
}

std::string ProcessExit::cause_text() const {
  std::string line, best;
  int rank = 0;  // how informative `best` is
  for (std::istringstream in(last_output); std::getline(in, line);) {
    int r = line.starts_with("SUMMARY:") ? 4 : line.find("runtime error:") != std::string::npos ? 3
            : line.starts_with("fuzz:")  ? 3
            : line.find("what():") != std::string::npos ? 2
            : line.starts_with("  in tgc::") ? 1 : 0;
    if (r > rank) best = line, rank = r;
  }
  // for a broken invariant, keep only the source position: the rest of the message depends on the graph
  if (size_t end = best.rfind(')'), open = best.rfind(".cpp:", end);
      best.find("internal error") != std::string::npos && open != std::string::npos)
    best = "internal error" + best.substr(best.rfind('(', open), end - best.rfind('(', open) + 1);
  std::string out = exit_kind + ": ";
  for (char c : best.substr(0, 160))
    if (!std::isdigit(static_cast<unsigned char>(c))) out += c;
  return out;
}

constexpr int kWaiting = 10;  // the wall time limit is this many times the processor time limit
static std::string hang_text(int seconds) { return "a hang of over " + std::to_string(seconds) + " s"; }

WatchedInputsResult run_watched_inputs(uint64_t first, uint64_t last, int limit_seconds,
                                       const std::function<void(uint64_t)>& body, const std::function<bool()>& more) {
  static SharedValue<std::atomic<uint64_t>> at;
  *at = first;
  int report = memfd_create("report", MFD_CLOEXEC);
  std::fflush(stdout);
  pid_t child = fork();
  if (child < 0) std::perror("fuzz: fork"), std::exit(2);
  if (child == 0) {
    prepare_child(report);
    for (uint64_t i = first; i < last && more(); i++) {
      *at = i;
      // CPU time does not depend on other load; the limit on wall time ends inputs that wait
      const itimerval limit{.it_interval = {}, .it_value = {limit_seconds, 0}};
      setitimer(ITIMER_PROF, &limit, nullptr);
      alarm(unsigned(kWaiting * limit_seconds));
      body(i);
      *at = i + 1;
    }
    alarm(0);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  WatchedInputsResult out{.next_input_index = *at};
  if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
    ProcessExit d{.input_index = *at, .exit_kind = {}, .last_output = demangled_report(report)};
    if (WIFSIGNALED(status))
      d.exit_kind = WTERMSIG(status) == SIGPROF   ? hang_text(limit_seconds)
              : WTERMSIG(status) == SIGALRM ? hang_text(kWaiting * limit_seconds) + " by the clock"
                                            : signal_name(WTERMSIG(status));
    else d.exit_kind = "exit code " + std::to_string(WEXITSTATUS(status));
    out.next_input_index = d.input_index + 1;
    out.process_exit = std::move(d);
  }
  close(report);
  return out;
}

}  // namespace tgc::fuzz
