// Tests what a confined worker cannot reach outside of it, and what a driver's worker may still do.
#include "lib/contain/contain.h"
#include "lib/support/sanitized.h"
#include "lib/support/testing.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#ifdef __linux__
namespace tgc {
namespace {

constexpr uid_t kNobody = 65534;
constexpr long kHigh = 1l << 32;  // a bit that the kernel ignores in an int argument

// Gives up the rights of root.
void become_unprivileged() {
  if (geteuid() != 0) return;
  if (setgroups(0, nullptr) || setresgid(kNobody, kNobody, kNobody) || setresuid(kNobody, kNobody, kNobody)) abort();
  prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // processes of the same user may trace it, as usual
}

struct Victim {
  pid_t pid;
  Victim() {
    int ends[2];
    if (pipe(ends) != 0) abort();
    pid = fork();
    if (pid == 0) {
      become_unprivileged(), prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (close(ends[1]), close(ends[0]);;) pause();
    }
    char none;
    close(ends[1]);
    (void)!read(ends[0], &none, 1);  // returns when the child has become unprivileged
    close(ends[0]);
  }
  ~Victim() { kill(pid, SIGKILL), waitpid(pid, nullptr, 0); }
  bool is_alive() const { return waitpid(pid, nullptr, WNOHANG) == 0; }
  std::string limits() const {
    std::ifstream in("/proc/" + std::to_string(pid) + "/limits");
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

struct Attempt {
  std::string name;
  std::vector<long> call;
  std::set<int> errors = {EPERM, ENOSYS};
};

volatile sig_atomic_t trapped = 0;

// Runs all attempts in one worker. Returns the attempts that were not refused, or the worker's error.
std::string not_refused(const Confinement& what, const std::vector<Attempt>& attempts,
                        const std::function<void()>& before = [] {}) {
  auto answer = run_in_sandbox(
      [&](Worker& worker) -> Result<std::string> {
        become_unprivileged();
        before();
        signal(SIGSYS, [](int) { trapped = 1; });
        worker.confine_process(what);
        std::string out;
        for (const Attempt& a : attempts) {
          long n[7] = {};
          std::copy(a.call.begin(), a.call.end(), n);
          trapped = 0, errno = 0;
          long result = syscall(n[0], n[1], n[2], n[3], n[4], n[5], n[6]);
          if (trapped) continue;
          if (result == 0 && (n[0] == SYS_clone || n[0] == SYS_clone3)) _exit(0);
          if (result >= 0) out += a.name + " worked; ";
          else if (!a.errors.contains(errno)) out += a.name + ": " + strerrorname_np(errno) + "; ";
        }
        return out;
      },
      {.timeout_seconds = 20});
  return answer ? *answer : answer.diag().message;
}

// Calls `check` for all rights, each with this computer's Landlock, with Landlock ABI 2 (Linux 5.19 to 6.1), and
// without Landlock.
void each_worker(const std::function<void(const Confinement&)>& check) {
  if (kIsSanitized || active_sandbox_mechanisms() == "limits") {
    MESSAGE("SKIPPED: there is no seccomp here; active: " << active_sandbox_mechanisms());
    return;
  }
  for (WorkerRights rights : {WorkerRights::Compute, WorkerRights::Compile, WorkerRights::Driver})
    for (int landlock : {1000, 2, 0}) {
      CAPTURE(int(rights));
      CAPTURE(landlock);
      check({.rights = rights, .max_landlock_abi = landlock});
    }
}

TEST_CASE("confine: no worker types into a terminal or takes one over") {
  std::vector<Attempt> attempts;
  const std::pair<const char*, long> commands[] = {
      {"TIOCSTI", 0x5412},   {"TIOCLINUX", 0x541C}, {"TCSETS", 0x5402},     {"TIOCSCTTY", 0x540E},
      {"TIOCSPGRP", 0x5410}, {"TIOCCONS", 0x541D},  {"TIOCSETD", 0x5423},   {"TIOCVHANGUP", 0x5437},
      {"FIOASYNC", 0x5452},  {"TCSETS2", 0x402C542B}, {"TIOCSIG", 0x40045436}, {"KDSKBSENT", 0x4B49},
      {"KDSKBENT", 0x4B47},  {"VT_ACTIVATE", 0x5606}, {"FIOSETOWN", 0x8901},   {"SIOCSPGRP", 0x8902},
      {"FS_IOC_SETFLAGS", 0x40086602}, {"FS_IOC_ENABLE_VERITY", 0x40806685}};
  for (auto& [name, command] : commands)
    for (long high : {0l, kHigh, -kHigh})
      attempts.push_back({std::string(name) + (high ? " with high bits" : ""), {SYS_ioctl, 0, command | high}});
  each_worker([&](const Confinement& what) { CHECK(not_refused(what, attempts) == ""); });
}

TEST_CASE("confine: no worker reaches another process of the user, or makes a namespace") {
  Victim victim;
  const long pid = victim.pid;
  const std::string before = victim.limits();
  REQUIRE(before.starts_with("Limit"));
  static const rlimit low{1, 1};
  static siginfo_t info{};
  info.si_signo = SIGUSR1, info.si_code = SI_QUEUE;
  static long mask = 1, word = 0, owner[2] = {F_OWNER_PID, 0};
  static const struct { void* at; size_t bytes; } part{&word, sizeof word};
  static uint64_t clone3[11] = {0x10000000 /* CLONE_NEWUSER */, 0, 0, 0, SIGCHLD}, scheduling[7] = {56};
  owner[1] = 0, reinterpret_cast<int*>(owner)[1] = victim.pid;
  auto at = [](const void* p) { return long(p); };
  const std::vector<Attempt> attempts{
      {"prlimit64", {SYS_prlimit64, pid, RLIMIT_NOFILE, at(&low)}},
      {"prlimit64 with high bits", {SYS_prlimit64, pid | kHigh, RLIMIT_NOFILE, at(&low)}},
      {"kill", {SYS_kill, pid, SIGUSR1}},
      {"kill with high bits", {SYS_kill, pid | kHigh, SIGUSR1}},
      {"kill of the group", {SYS_kill, -getpgrp(), 0}},
      {"tkill", {SYS_tkill, pid, SIGUSR1}},
      {"tgkill", {SYS_tgkill, pid, pid, SIGUSR1}},
      {"rt_sigqueueinfo", {SYS_rt_sigqueueinfo, pid, SIGUSR1, at(&info)}},
      {"rt_tgsigqueueinfo", {SYS_rt_tgsigqueueinfo, pid, pid, SIGUSR1, at(&info)}},
      {"pidfd_open", {SYS_pidfd_open, pid}},
      {"pidfd_send_signal", {SYS_pidfd_send_signal, -1, SIGUSR1}},
      {"F_SETOWN", {SYS_fcntl, 0, F_SETOWN, pid}},
      {"F_SETOWN with high bits", {SYS_fcntl, 0, F_SETOWN | kHigh, pid}},
      {"F_SETOWN_EX", {SYS_fcntl, 0, F_SETOWN_EX, at(owner)}},
      {"F_SETSIG", {SYS_fcntl, 0, F_SETSIG, SIGUSR1}},
      {"ptrace", {SYS_ptrace, 0x4206 /* PTRACE_SEIZE */, pid}},
      {"process_vm_readv", {SYS_process_vm_readv, pid, at(&part), 1, at(&part), 1}},
      {"process_vm_writev", {SYS_process_vm_writev, pid, at(&part), 1, at(&part), 1}},
      {"kcmp", {SYS_kcmp, pid, pid}},
      {"setpriority", {SYS_setpriority, PRIO_PROCESS, pid, 19}},
      {"ioprio_set", {SYS_ioprio_set, 1, pid, 3 << 13}},
      {"sched_setscheduler", {SYS_sched_setscheduler, pid, 0, at(&word)}},
      {"sched_setparam", {SYS_sched_setparam, pid, at(&word)}},
      {"sched_setattr", {SYS_sched_setattr, pid, at(scheduling)}},
      {"sched_setaffinity", {SYS_sched_setaffinity, pid, 8, at(&mask)}},
      {"migrate_pages", {SYS_migrate_pages, pid, 2, at(&mask), at(&mask)}},
      {"move_pages", {SYS_move_pages, pid, 0}},
      {"perf_event_open", {SYS_perf_event_open, 0, pid}},
      {"PR_SCHED_CORE", {SYS_prctl, 62, 0, pid}},
      {"PR_SCHED_CORE with high bits", {SYS_prctl, 62 | kHigh, 0, pid}},
      {"shmget", {SYS_shmget, 1, 4096, 01600}},
      {"msgget", {SYS_msgget, 1, 01600}},
      {"semget", {SYS_semget, 1, 1, 01600}},
      {"mq_open", {SYS_mq_open, at("tgc"), O_CREAT, 0600}},
      {"clone(CLONE_NEWUSER)", {SYS_clone, 0x10000000 | SIGCHLD}},
      {"clone(CLONE_NEWUSER) with high bits", {SYS_clone, 0x10000000 | SIGCHLD | kHigh}},
      {"clone(CLONE_NEWPID)", {SYS_clone, 0x30000000 | SIGCHLD}},
      {"clone(CLONE_PARENT)", {SYS_clone, 0x8000 | SIGCHLD}},
      {"clone3", {SYS_clone3, at(clone3), sizeof clone3}},
      {"unshare", {SYS_unshare, 0x10000000}},
      {"setns", {SYS_setns, 0, 0x10000000}}};
  each_worker([&](const Confinement& what) {
    CHECK(not_refused(what, attempts) == "");
    CHECK(victim.is_alive());
    CHECK(victim.limits() == before);
  });
}

TEST_CASE("confine: no worker reads or writes a descriptor that it inherited") {
  std::string name = "/tmp/tgc-confine-test-" + std::to_string(getpid());
  int file = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  REQUIRE(file >= 0);
  REQUIRE(write(file, "secret", 6) == 6);
  const int far = fcntl(file, F_DUPFD, 200);
  static char byte = 'x';
  std::vector<Attempt> attempts;
  for (int fd : {file, far})
    for (long call : {SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_fstat, SYS_dup, SYS_ftruncate})
      attempts.push_back({"call " + std::to_string(call), {call, fd, long(&byte), 1}, {EBADF, EACCES}});
  // pread64 may work: descriptor 0 is /dev/null
  attempts.push_back({"standard input", {SYS_pread64, 0, long(&byte), 1, 0}, {EBADF}});
  each_worker([&](const Confinement& what) {
    auto standard = [&] {
      for (int fd : {0, 1, 2}) dup2(file, fd);
    };
    std::string refused = not_refused(what, attempts, standard);
    CHECK((refused.empty() || refused == "standard input worked; "));
    CHECK(byte == 'x');
    CHECK(std::filesystem::file_size(name) == 6);
  });
  auto read_first = run_in_sandbox([&](Worker& worker) -> Result<std::string> {
    for (int fd : {0, 1, 2}) dup2(file, fd);
    worker.confine_process({.rights = WorkerRights::Driver});
    char text[8];
    return std::to_string(pread(0, text, sizeof text, 0)) + " " + std::to_string(write(1, "x", 1));
  });
  if (!kIsSanitized && active_sandbox_mechanisms() != "limits") CHECK(read_first.value_or_throw() == "0 1");
  CHECK(std::filesystem::file_size(name) == 6);
  close(file), close(far), unlink(name.c_str());
}

TEST_CASE("confine: no worker truncates a file of the user, also where Landlock cannot prevent it") {
  std::string name = "/tmp/tgc-confine-test-" + std::to_string(getpid());
  int file = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  REQUIRE(write(file, "secret", 6) == 6);
  if (geteuid() == 0) REQUIRE(fchown(file, kNobody, kNobody) == 0);
  close(file);
  const long path = long(name.c_str());
  static const uint64_t how[3] = {O_RDONLY | O_TRUNC};
  std::vector<Attempt> attempts{{"truncate", {SYS_truncate, path, 0}},
                                {"openat2", {SYS_openat2, AT_FDCWD, path, long(how), sizeof how}}};
  for (long access : {long(O_RDONLY), long(O_ACCMODE), O_RDONLY | kHigh})
    attempts.push_back({"open " + std::to_string(access), {SYS_openat, AT_FDCWD, path, access | O_TRUNC}});
  each_worker([&](const Confinement& what) {
    CHECK(not_refused(what, attempts) == "");
    CHECK(std::filesystem::file_size(name) == 6);
  });
  unlink(name.c_str());
}

TEST_CASE("confine: a driver's worker opens no terminal where there is Landlock, and can start threads and programs") {
  SKIP_TEST_IF(kIsSanitized || active_sandbox_mechanisms().find("Landlock") == std::string::npos,
               "no Landlock, or sanitizers");
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  SKIP_TEST_IF(terminal < 0 || grantpt(terminal) || unlockpt(terminal), "there is no terminal");
  const std::string name = ptsname(terminal);
  if (geteuid() == 0) REQUIRE(chown(name.c_str(), kNobody, kNobody) == 0);
  for (int landlock : {1000, 2}) {
    auto opened = run_in_sandbox([&](Worker& worker) -> Result<std::string> {
      become_unprivileged();
      worker.confine_process(
          {.rights = WorkerRights::Driver, .writable_paths = {"/dev/null"}, .max_landlock_abi = landlock});
      std::string out;
      for (const char* path : {name.c_str(), "/dev/ptmx", "/dev/null", "/dev/urandom", "/etc/passwd"}) {
        int fd = open(path, O_RDONLY | O_NOCTTY);
        out += fd >= 0 ? "opened " : std::string(strerrorname_np(errno)) + " ";
        close(fd);
      }
      bool ran = false;
      std::thread([&] { ran = true; }).join();
      return out + (ran ? "ran " : "") + (isatty(0) ? "" : strerrorname_np(errno)) + " " +
             std::to_string(system("exec test -r /etc/passwd >/dev/null 2>&1"));
    });
    CHECK(opened.value_or_throw() == "EACCES EACCES opened opened opened ran ENOTTY 0");
  }
  close(terminal);
}

TEST_CASE("confine: a driver's worker names its threads and listens, as libcuda does, but reaches no server") {
  SKIP_TEST_IF(kIsSanitized || active_sandbox_mechanisms() == "limits",
               "sanitizers are on, or the sandbox has no walls here");
  sockaddr_un server{.sun_family = AF_UNIX}, own = server;
  std::string name = "tgc-confine-test-" + std::to_string(getpid());
  std::copy(name.begin(), name.end(), server.sun_path + 1);  // the first byte is 0: the name is abstract
  std::copy(name.begin(), name.end(), own.sun_path + 2);
  const int listening = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  auto address = [](const sockaddr_un& a) { return reinterpret_cast<const sockaddr*>(&a); };
  REQUIRE(bind(listening, address(server), sizeof server) == 0);
  REQUIRE(listen(listening, 1) == 0);
  auto tried = run_in_sandbox([&](Worker& worker) -> Result<std::string> {
    become_unprivileged();
    worker.confine_process({.rights = WorkerRights::Driver});
    std::string out;
    auto attempt = [&](const char* what, int result) {
      out += std::string(what) + (result < 0 ? std::string(": ") + strerrorname_np(errno) : " worked") + "; ";
    };
    std::string comm = "/proc/self/task/" + std::to_string(gettid()) + "/comm";
    attempt("comm", open(comm.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666));
    attempt("limits", open("/proc/self/limits", O_WRONLY));
    const int local = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    attempt("connect", connect(local, address(server), sizeof server));
    attempt("bind", bind(local, address(own), sizeof own));
    attempt("listen", listen(local, 1));
    attempt("stream", socket(AF_UNIX, SOCK_STREAM, 0));
    attempt("network", socket(AF_INET, SOCK_SEQPACKET, 0));
    return out;
  });
  CHECK(tried.value_or_throw() ==
        "comm worked; limits: EACCES; connect: ENOENT; bind worked; listen worked; stream: EPERM; network: EPERM; ");
  close(listening);
}

}  // namespace
}  // namespace tgc
#endif
