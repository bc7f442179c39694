#include "lib/contain/contain.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/contain/system.h"
#if TGC_LINUX
#include <sys/prctl.h>
#include <ucontext.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/contain/bytes.h"
#include "lib/support/counted.h"
#include "lib/support/log.h"

namespace tgc {
namespace {

enum class MessageKind : uint32_t { Answer, Error, Fault, Log };
struct MessageHeader {
  MessageKind kind = MessageKind::Answer;
  // a fault: the signal and its si_code (for SIGSYS, the system call); a log entry: its topic and level
  int32_t signal = 0, code = 0;
  uint64_t address = 0, stack = 0;  // fault address and stack pointer
  uint64_t bytes = 0;
  char range_name[48] = "";          // the watched range nearest to the address; empty if none is near
  int32_t range_side = 0;              // -1: the address is before that range, 1: after it, 0: inside
  uint64_t distance = 0;
  uint64_t range_bytes = 0;
};

constexpr uint64_t kMaxStackDistance = 1 << 20;

bool is_near_stack_pointer(const MessageHeader& h) {
  return h.stack && (h.address > h.stack ? h.address - h.stack : h.stack - h.address) < kMaxStackDistance;
}

std::string fault_explanation(const MessageHeader& h) {
  if (h.signal == SIGFPE)
    return h.code == FPE_INTOVF   ? "integer overflow"
           : h.code == FPE_INTDIV ? "integer division by zero"
                                  : "arithmetic fault";
#ifdef SI_KERNEL  // general protection fault: no address
  if (h.signal == SIGSEGV && h.code == SI_KERNEL)
    return "misaligned vector access, or access to a non-canonical address";
#endif
  if (h.signal == SIGSEGV && !h.range_name[0] && is_near_stack_pointer(h)) return "stack overflow";
  if (h.signal == SIGSEGV || h.signal == SIGBUS) return "access to unmapped memory";
  if (h.signal == SIGILL) return "instruction that this processor does not have";
  if (h.signal == SIGABRT) return "the process aborted itself";
  if (h.signal == SIGSYS) return "it called '" + system_call_name(h.code) + "', which it may not";
  if (h.signal == SIGXCPU) return "it used up its CPU time";
  if (h.signal == SIGXFSZ) return "it wrote to a file, which it may not";
  if (h.signal == SIGKILL) return "from outside: most likely the system ran out of memory";
  return strsignal(h.signal);
}

constexpr int kCheckMilliseconds = 100;  // a wait checks its time limits at this interval

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

// Does not raise SIGPIPE if the worker is dead. Returns false if sending fails, or if not all bytes are sent at the
// current deadline.
bool send_all(int fd, const void* data, size_t bytes) {
  auto p = static_cast<const char*>(data);
  while (bytes) {
    ssize_t n = send(fd, p, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN && !current_deadline().is_over()) {
      pollfd waiting{fd, POLLOUT, 0};
      poll(&waiting, 1, kCheckMilliseconds);
      continue;
    }
    if (n <= 0) return false;
    p += n, bytes -= size_t(n);
  }
  return true;
}

// A compromised worker may announce any size.
constexpr uint64_t kMostBytes = uint64_t(1) << 30;

int fault_fd = -1;
std::span<const NamedMemory> watched_ranges;

uint64_t stack_pointer([[maybe_unused]] void* context) {
#if TGC_LINUX && defined(__x86_64__)
  return uint64_t(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#elif TGC_LINUX && defined(__aarch64__)
  return static_cast<ucontext_t*>(context)->uc_mcontext.sp;
#else
  return 0;
#endif
}

// Finds the watched range nearest to the fault address, within 1 GiB. Runs in a signal handler: no malloc.
void find_nearest_range(MessageHeader& h) {
  constexpr uint64_t kNear = uint64_t(1) << 30;
  uint64_t best = kNear;
  for (const NamedMemory& m : watched_ranges) {
    uint64_t end = m.address + m.bytes;
    bool before = h.address < m.address;
    uint64_t distance = before ? m.address - h.address : h.address >= end ? h.address - end : 0;
    if (distance >= best) continue;
    best = distance;
    h.range_side = before ? -1 : h.address >= end, h.distance = distance, h.range_bytes = m.bytes;
    std::strncpy(h.range_name, m.name.c_str(), sizeof h.range_name - 1);
  }
}

void report_fault(int signal, siginfo_t* info, void* context) {
  MessageHeader header{.kind = MessageKind::Fault, .signal = signal, .code = info->si_code};
  if (signal != SIGABRT && signal != SIGSYS) header.address = reinterpret_cast<uint64_t>(info->si_addr);
#if TGC_LINUX
  if (signal == SIGSYS) header.code = info->si_syscall;
#endif
  if (signal == SIGSEGV || signal == SIGBUS) find_nearest_range(header), header.stack = stack_pointer(context);
  write_all(fault_fd, &header, sizeof header);
  _exit(1);
}

// Makes report_fault() handle faults, on an alternate stack because a fault may be a stack overflow.
void catch_faults(int fd) {
  fault_fd = fd;
  static std::array<char, 65536> stack;
  stack_t alternative{};
  alternative.ss_sp = stack.data(), alternative.ss_size = stack.size();
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_sigaction = report_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int signal : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGSYS, SIGXCPU, SIGXFSZ})
    sigaction(signal, &action, nullptr);
}

// On Linux, the worker is the out-of-memory killer's first victim, and is killed when its parent dies.
void let_be_killed_first() {
  setpgid(0, 0);  // a signal to the group also kills descendants
#if TGC_LINUX
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); fd >= 0) {
    write_all(fd, "1000", 4);
    close(fd);
  }
#endif
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

std::string serialize_diag(const Diag& d) {
  ByteWriter out;
  out.write_number(d.line).write_number(d.column).write_number(d.is_kernel_fault);
  out.write_text(d.message).write_text(d.file).write_text(d.expected).write_text(d.context);
  return out.take_bytes();
}

Diag deserialize_diag(std::string_view bytes) {
  ByteReader in(bytes);
  Diag d;
  d.line = uint32_t(in.read_number()), d.column = uint32_t(in.read_number()), d.is_kernel_fault = in.read_number() != 0;
  d.message = in.read_text(), d.file = in.read_text(), d.expected = in.read_text(), d.context = in.read_text();
  return d;
}

enum class ReadOutcome { Done, Ended, TimedOut, TooMany };

size_t count_group_processes(pid_t group) {
  size_t out = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    pid_t pid = atoi(it->path().filename().c_str());
    if (pid > 0 && getpgid(pid) == group) out++;
  }
  return out;
}

// If `child` is set, a wait for bytes ends after `timeout` seconds without progress (0: no limit), at the current
// deadline, or if the child's process group has more than kMaxGroupProcesses processes.
class ChannelReader {
 public:
  explicit ChannelReader(int fd, pid_t child = 0, double timeout = 0, const std::function<uint64_t()>& progress = {})
      : fd_(fd), child_pid_(child), timeout_seconds_(timeout), progress_(progress) {
    restart_deadline();
  }

  ReadOutcome read(void* to, size_t bytes) {
    auto p = static_cast<char*>(to);
    while (bytes) {
      if (child_pid_) {  // without a child (in a worker), the read below has no time limit
        // also ends the wait for a worker that keeps on sending after the deadline
        if (seconds_since(deadline_.end_time) > kCompareGraceSeconds) return ReadOutcome::TimedOut;
        pollfd waiting{fd_, POLLIN, 0};
        int ready = poll(&waiting, 1, std::min(milliseconds_left(), kCheckMilliseconds));
        if (ready < 0 && errno == EINTR) continue;
        if (ready == 0) {
          if (uint64_t now = progress_ ? progress_() : 0; now != last_progress_)
            last_progress_ = now, restart_deadline();
          if (milliseconds_left() == 0) return ReadOutcome::TimedOut;
          if (count_group_processes(child_pid_) > kMaxGroupProcesses) return ReadOutcome::TooMany;
          continue;
        }
      }
      ssize_t n = ::read(fd_, p, bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return ReadOutcome::Ended;
      p += n, bytes -= size_t(n);
    }
    return ReadOutcome::Done;
  }
  double limit_seconds() const { return deadline_.limit_seconds; }
  // Reads in pieces, so that a large size alone does not make this process allocate much memory.
  ReadOutcome read(std::string& to, uint64_t bytes) {
    constexpr uint64_t kPiece = 16 << 20;
    while (to.size() < bytes) {
      size_t at = to.size(), size = size_t(std::min(bytes - at, kPiece));
      to.resize(at + size);
      if (ReadOutcome got = read(to.data() + at, size); got != ReadOutcome::Done) return got;
    }
    return ReadOutcome::Done;
  }

 private:
  static constexpr size_t kMaxGroupProcesses = 32;

  void restart_deadline() { deadline_ = deadline_within(timeout_seconds_); }
  int milliseconds_left() const { return int(std::min(std::ceil(1000 * deadline_.seconds_left()), 1e9)); }

  int fd_;
  pid_t child_pid_;
  double timeout_seconds_;
  const std::function<uint64_t()>& progress_;
  uint64_t last_progress_ = 0;
  Deadline deadline_;
};

// Returns, for example, ": 4 bytes after the end of data1, 32 bytes"; "" if no range is near.
std::string nearest_range_text(const MessageHeader& h) {
  std::string name;
  for (const char* c = h.range_name; c < std::end(h.range_name) && *c; c++) name += *c < ' ' || *c == 127 ? '?' : *c;
  if (name.empty()) return "";
  std::string where = h.range_side < 0   ? count_text(h.distance, "byte") + " before the beginning of "
                      : h.range_side > 0 ? count_text(h.distance, "byte") + " after the end of "
                                   : "in ";
  return ": " + where + name + ", " + count_text(h.range_bytes, "byte");
}

Diag signal_death_diag(const MessageHeader& h) {
  bool has_address = h.address || ((h.signal == SIGSEGV || h.signal == SIGBUS) && h.kind == MessageKind::Fault);
#ifdef SI_KERNEL
  if (h.signal == SIGSEGV && h.code == SI_KERNEL) has_address = false;
#endif
  char where[32] = "";
  if (has_address) std::snprintf(where, sizeof where, " at 0x%llx", static_cast<unsigned long long>(h.address));
  return Diag{.message = "killed by " + signal_name(h.signal) + " (" + fault_explanation(h) + where +
                         nearest_range_text(h) + ")",
              .is_kernel_fault = h.range_name[0] && h.range_side};
}

// The parent's ends of the channels to its workers. A new worker closes the copies of them that it inherits.
struct WorkerChannels {
  std::mutex mutex;
  std::vector<int> open_channels;

  void add_channel(int channel) { open_channels.push_back(channel); }
  void close_channel(int channel) {
    std::lock_guard lock(mutex);
    std::erase(open_channels, channel);
    close(channel);
  }
};
WorkerChannels& worker_channels() {
  static WorkerChannels all;
  return all;
}

}  // namespace

namespace {

constexpr size_t kMaxLogEntryBytes = 4096;
std::mutex message_mutex;  // a log entry of another thread must not interrupt an answer

bool write_message(int channel, MessageHeader header, std::string_view text) {
  std::lock_guard lock(message_mutex);
  header.bytes = text.size();
  return write_all(channel, &header, sizeof header) && write_all(channel, text.data(), text.size());
}

void write_worker_log(const MessageHeader& header, const std::string& text, pid_t worker) {
  if (header.signal < 0 || size_t(header.signal) >= kNumLogTopics || text.size() > kMaxLogEntryBytes) return;
  const LogLevel level = header.code == int(LogLevel::Info) ? LogLevel::Info : LogLevel::Debug;
  write_log_entry(LogTopic(header.signal), level, "worker " + std::to_string(worker) + ": " + text);
}

}  // namespace

void Worker::watch_memory(std::span<const NamedMemory> memory) { watched_ranges = memory; }

void Worker::send_answer(const Result<std::string>& result) const {
  std::string diag = result ? "" : serialize_diag(result.diag());
  const std::string& text = result ? *result : diag;
  const bool sent = write_message(channel_, {.kind = result ? MessageKind::Answer : MessageKind::Error}, text);
  if (!sent) _exit(0);
}

std::string Worker::next_message() const {
  ChannelReader reader(channel_);
  uint64_t bytes = 0;
  std::string text;
  if (reader.read(&bytes, sizeof bytes) != ReadOutcome::Done || reader.read(text, bytes) != ReadOutcome::Done) _exit(0);
  return text;
}

Result<WorkerProcess> WorkerProcess::start(const std::function<Status(Worker&)>& body) {
  prepare_confinement();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Diag{std::string("cannot create a channel to a worker process: ") + std::strerror(errno)};
  std::fflush(nullptr);  // else both processes could write the buffered output
  std::unique_lock lock(worker_channels().mutex);
  pid_t child = fork();
  if (child > 0) worker_channels().add_channel(ends[0]);
  if (child == 0)
    for (int channel : std::exchange(worker_channels().open_channels, {})) close(channel);
  lock.unlock();
  if (child < 0) {
    int error = errno;
    close(ends[0]), close(ends[1]);
    return Diag{std::string("cannot start a process: ") + std::strerror(error)};
  }
  if (child == 0) {
    close(ends[0]);
    let_be_killed_first();
    catch_faults(ends[1]);
    Worker worker(ends[1]);
    forward_log([channel = ends[1]](LogTopic topic, LogLevel level, std::string_view text) {
      const MessageHeader header{.kind = MessageKind::Log, .signal = int32_t(topic), .code = int32_t(level)};
      write_message(channel, header, text.substr(0, kMaxLogEntryBytes));
    });
    auto done = catch_failures([&] { return body(worker).value_or_throw(); });
    if (!done) worker.send_answer(done.diag());
    _exit(0);
  }
  setpgid(child, child);  // the child calls setpgid, too: whichever is first, the group exists when either continues
  close(ends[1]);
  log_debug(LogTopic::Contain, [&] { return "worker " + std::to_string(child) + " started"; });
  return WorkerProcess(child, ends[0]);
}

WorkerProcess::WorkerProcess(pid_t child, int channel) : child_pid_(child), owner_pid_(getpid()), channel_(channel) {}

bool WorkerProcess::is_in_parent() const { return owner_pid_ == getpid(); }

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : child_pid_(std::exchange(other.child_pid_, 0)),
      owner_pid_(other.owner_pid_),
      channel_(std::exchange(other.channel_, -1)),
      worker_exit_(other.worker_exit_),
      exit_cause_(std::move(other.exit_cause_)) {}

int WorkerProcess::kill_and_wait() {
  if (!child_pid_ || !is_in_parent()) return child_pid_ = 0;
  log_debug(LogTopic::Contain, [&] { return "worker " + std::to_string(child_pid_) + " is ended"; });
  kill(-child_pid_, SIGKILL);  // a worker that has already exited keeps its exit status
  int status = 0;
  while (waitpid(child_pid_, &status, 0) < 0 && errno == EINTR) {
  }
  worker_channels().close_channel(channel_);
  child_pid_ = 0;
  return status;
}

Diag WorkerProcess::record_exit(WorkerExit worker_exit, Diag diag) {
  log_info(LogTopic::Contain, [&] { return "a worker died: " + diag.message; });
  worker_exit_ = worker_exit;
  return exit_cause_ = std::move(diag);
}

Status WorkerProcess::send(std::string_view message) {
  if (!child_pid_) return exit_cause_;
  uint64_t bytes = message.size();
  if (send_all(channel_, &bytes, sizeof bytes) && send_all(channel_, message.data(), message.size())) return Unit{};
  return Diag{"cannot send to the worker process: it has ended"};
}

Result<std::string> WorkerProcess::receive_answer(double timeout_seconds, const std::function<uint64_t()>& progress) {
  if (!child_pid_) return exit_cause_;
  ChannelReader reader(channel_, child_pid_, timeout_seconds, progress);
  MessageHeader header;
  std::string text;
  ReadOutcome got;
  bool believable;
  do {
    text.clear();
    got = reader.read(&header, sizeof header);
    believable = got == ReadOutcome::Done && header.bytes <= kMostBytes;
    if (believable) got = reader.read(text, header.bytes);
    if (believable && got == ReadOutcome::Done && header.kind == MessageKind::Log)
      write_worker_log(header, text, child_pid_);
  } while (believable && got == ReadOutcome::Done && header.kind == MessageKind::Log);
  if (believable && got == ReadOutcome::Done && header.kind == MessageKind::Answer) return text;
  if (believable && got == ReadOutcome::Done && header.kind == MessageKind::Error)
    return catch_failures([&]() -> std::string { throw Failure(deserialize_diag(text)); });
  int status = kill_and_wait();
  if (got == ReadOutcome::TimedOut)
    return record_exit({SIGKILL, true}, out_of_time_error(reader.limit_seconds()));
  if (got == ReadOutcome::TooMany)
    return record_exit({SIGKILL}, {"started more processes than a driver needs, and was ended with all of them"});
  if (believable && got == ReadOutcome::Done) return record_exit({header.signal}, signal_death_diag(header));
  if (WIFSIGNALED(status)) return record_exit({WTERMSIG(status)}, signal_death_diag({.signal = WTERMSIG(status)}));
  const std::string code = std::to_string(WEXITSTATUS(status));
  return record_exit({}, {"its process ended with exit code " + code + " and without an answer"});
}

Result<WorkerProcess> begin_contained_worker(const std::function<Result<std::string>(Worker&)>& body) {
  return WorkerProcess::start([&](Worker& self) -> Status {
    self.send_answer(catch_failures([&] { return std::move(body(self).value_or_throw()); }));
    return Unit{};
  });
}

Result<std::string> run_in_sandbox(const std::function<Result<std::string>(Worker&)>& body,
                                   const ContainOptions& options, WorkerExit* worker_exit) {
  auto worker = begin_contained_worker(body);
  if (!worker) return worker.diag();
  auto answer = worker->receive_answer(options.timeout_seconds);
  if (worker_exit) *worker_exit = worker->worker_exit().value_or(WorkerExit{});
  return answer;
}

}  // namespace tgc
