#include "lib/runtime/contain.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>

namespace tgc {
namespace {

// What the child writes first.
enum class Kind : uint32_t { Answer, Error, Fault };
struct Header {
  Kind kind = Kind::Answer;
  int32_t signal = 0, code = 0;  // of a fault
  uint64_t address = 0;
  uint64_t bytes = 0;  // that follow
};

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

// What people call that fault.
std::string explanation(int signal, int code) {
  if (signal == SIGFPE)
    return code == FPE_INTOVF   ? "integer overflow"
           : code == FPE_INTDIV ? "integer division by zero"
                                : "arithmetic fault";
#ifdef SI_KERNEL  // the processor gives no address then, and Linux says 0
  if (signal == SIGSEGV && code == SI_KERNEL)
    return "a vector at an address that is no multiple of its size, or an address that no memory can have";
#endif
  if (signal == SIGSEGV || signal == SIGBUS) return "access to memory that is not there";
  if (signal == SIGILL) return "instruction that this processor does not have";
  if (signal == SIGABRT) return "the process aborted itself";
  if (signal == SIGKILL) return "from outside: most likely the system ran out of memory";
  return strsignal(signal);
}

bool write_all(int fd, const void* data, size_t bytes) {
  auto p = static_cast<const char*>(data);
  while (bytes) {
    ssize_t n = write(fd, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    p += n, bytes -= size_t(n);
  }
  return true;
}

int fault_fd = -1;  // of the child, for its signal handler

void report_fault(int signal, siginfo_t* info, void*) {
  Header header{Kind::Fault, signal, info->si_code, reinterpret_cast<uint64_t>(info->si_addr), 0};
  write_all(fault_fd, &header, sizeof header);
  _exit(1);
}

// Faults are reported from a stack of their own: the kernel's may be what ran out.
void catch_faults(int fd) {
  fault_fd = fd;
  static std::array<char, 65536> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data(), alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_sigaction = report_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

// When memory runs out the system should take the child, not us; and nobody wants the core file of a kernel.
void be_expendable() {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (FILE* file = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", file);
    std::fclose(file);
  }
#endif
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

[[noreturn]] void run_child(const std::function<Result<std::string>()>& body, int fd) {
  be_expendable();
  catch_faults(fd);
  auto result = catch_failures([&] { return body().value_or_throw(); });
  std::string text = result ? std::move(*result) : result.diag().text();
  Header header{result ? Kind::Answer : Kind::Error, 0, 0, 0, text.size()};
  write_all(fd, &header, sizeof header) && write_all(fd, text.data(), text.size());
  std::fflush(nullptr);
  _exit(0);
}

class Pipe {
 public:
  Pipe() { ok_ = pipe2(fds_.data(), O_CLOEXEC) == 0; }
  ~Pipe() { close_end(0), close_end(1); }
  bool ok() const { return ok_; }
  int end(int i) const { return fds_[size_t(i)]; }
  void close_end(int i) {
    int& fd = fds_[size_t(i)];
    if (ok_ && fd >= 0) close(fd);
    fd = -1;
  }

 private:
  std::array<int, 2> fds_{-1, -1};
  bool ok_;
};

enum class Read { Done, Ended, TimedOut };

// Reads `bytes` bytes before `deadline`.
class Reader {
 public:
  Reader(int fd, double timeout) : fd_(fd), limited_(timeout > 0) {
    if (limited_)
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
  }

  Read read(void* to, size_t bytes) {
    auto p = static_cast<char*>(to);
    while (bytes) {
      pollfd waiting{fd_, POLLIN, 0};
      int ready = poll(&waiting, 1, milliseconds_left());
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) {
        if (milliseconds_left() == 0) return Read::TimedOut;
        continue;
      }
      ssize_t n = ::read(fd_, p, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Read::Ended;
      p += n, bytes -= size_t(n);
    }
    return Read::Done;
  }

 private:
  using Clock = std::chrono::steady_clock;

  int milliseconds_left() const {
    if (!limited_) return -1;
    double left = std::chrono::duration<double, std::milli>(deadline_ - Clock::now()).count();
    return int(std::clamp(std::ceil(left), 0.0, 1e9));
  }

  int fd_;
  bool limited_;
  Clock::time_point deadline_;
};

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Diag killed(int signal, int code, std::optional<uint64_t> address, Death& death) {
  death.signal = signal;
#ifdef SI_KERNEL
  if (signal == SIGSEGV && code == SI_KERNEL) address.reset();
#endif
  char where[32] = "";
  if (address) std::snprintf(where, sizeof where, " at 0x%llx", static_cast<unsigned long long>(*address));
  return Diag{"killed by " + signal_name(signal) + " (" + explanation(signal, code) + where + ")"};
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g second%s", seconds, seconds == 1 ? "" : "s");
  return text;
}

}  // namespace

Result<std::string> contain(const std::function<Result<std::string>()>& body, const ContainOptions& options,
                            Death* death) {
  Death unused;
  if (!death) death = &unused;
  *death = {};
  Pipe pipe;
  if (!pipe.ok()) return Diag{std::string("cannot make a pipe: ") + std::strerror(errno)};
  std::fflush(nullptr);  // else both processes would write what waits in the buffers
  pid_t child = fork();
  if (child < 0) return Diag{std::string("cannot start a process: ") + std::strerror(errno)};
  if (child == 0) {
    pipe.close_end(0);
    run_child(body, pipe.end(1));
  }
  pipe.close_end(1);

  Reader reader(pipe.end(0), options.timeout_seconds);
  Header header;
  std::string text;
  Read got = reader.read(&header, sizeof header);
  if (got == Read::Done) {
    text.resize(header.bytes);
    got = reader.read(text.data(), text.size());
  }
  if (got == Read::TimedOut) kill(child, SIGKILL);
  int status = wait_for(child);
  if (got == Read::TimedOut) {
    *death = {SIGKILL, true};
    return Diag{"did not end within " + seconds_text(options.timeout_seconds)};
  }
  if (got == Read::Done && header.kind == Kind::Fault)
    return killed(header.signal, header.code, header.address, *death);
  if (got == Read::Done) return header.kind == Kind::Answer ? Result<std::string>(std::move(text)) : Diag{text};
  if (WIFSIGNALED(status)) return killed(WTERMSIG(status), 0, std::nullopt, *death);
  return Diag{"its process ended with exit code " + std::to_string(WEXITSTATUS(status)) + " and without an answer"};
}

}  // namespace tgc
