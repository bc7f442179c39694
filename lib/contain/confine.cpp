#include "lib/contain/confine.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "lib/contain/system.h"
#include "lib/support/log.h"
#include "lib/support/sanitized.h"

#if TGC_LINUX
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#endif
#ifdef TGC_SECCOMP
#include <seccomp.h>
#endif

namespace tgc {
namespace {

Diag confinement_error(const char* wall, int error) {
  return Diag{std::string("cannot confine the worker process (") + wall + "): " + std::strerror(error)};
}

// Does not use directory_iterator, whose increment() ends the process if memory runs out.
std::vector<std::string> entry_names_in(const char* folder) {
  std::vector<std::string> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder), closedir);
  if (!open) return out;
  while (const dirent* entry = readdir(open.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") out.emplace_back(name);
  return out;
}

uint64_t address_space_bytes() {
  char text[128] = "";  // stdio would allocate a buffer
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  return n > 0 ? std::strtoull(text, nullptr, 10) * uint64_t(sysconf(_SC_PAGESIZE)) : 0;
}

void lower_resource_limit(int which, uint64_t to) {
  rlimit limit;
  if (getrlimit(__rlimit_resource_t(which), &limit) != 0) return;
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, to);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, limit.rlim_max);
  setrlimit(__rlimit_resource_t(which), &limit);
}

void set_resource_limits(const Confinement& what) {
  lower_resource_limit(RLIMIT_CORE, 0);
  if (what.rights != WorkerRights::Driver) lower_resource_limit(RLIMIT_FSIZE, 0), lower_resource_limit(RLIMIT_NPROC, 0);
  if (what.cpu_seconds > 0) lower_resource_limit(RLIMIT_CPU, uint64_t(std::ceil(what.cpu_seconds)) + 1);
  if (what.memory_bytes && !kIsSanitized) {
    // Drivers reserve terabytes of address space, so only their data segment is limited.
    bool driver = what.rights == WorkerRights::Driver;
    lower_resource_limit(driver ? RLIMIT_DATA : RLIMIT_AS, address_space_bytes() + what.memory_bytes);
  }
}

void close_descriptor_range(unsigned first, unsigned last) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, last, 0) == 0) return;
#endif
  rlimit limit{};  // Linux before 5.9 has no close_range
  getrlimit(RLIMIT_NOFILE, &limit);
  for (unsigned fd = first; fd <= last && fd < limit.rlim_cur; fd++) close(int(fd));
}

// If descriptors 0 to 2 were closed, the next file that a driver opens would get one of these numbers and receive the
// driver's error messages.
Status close_inherited_descriptors(int channel) {
  int null = open("/dev/null", O_RDWR);
  for (int fd : {0, 1, 2})
    if (fd != channel && (null < 0 || dup2(null, fd) < 0)) return confinement_error("/dev/null", errno);
  if (channel > 3) close_descriptor_range(3, unsigned(channel) - 1);
  close_descriptor_range(unsigned(std::max(3, channel + 1)), ~0u);
  return Unit{};
}

#if TGC_LINUX && defined(SYS_landlock_create_ruleset)
constexpr uint64_t kReadRights =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr uint64_t kAbi1Rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // all rights of ABI version 1
// added by ABI versions 2, 3 and 5
constexpr uint64_t kReferRight = 1u << 13, kTruncateRight = 1u << 14, kIoctlRight = 1u << 15;
constexpr uint64_t kFileRights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE |
                                 LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncateRight | kIoctlRight;
// network: bind and connect with TCP; scopes: abstract sockets of, and
constexpr uint64_t kNetworkRights = 3, kAllScopes = 3;
                                               // signals to, processes outside the sandbox

// The struct landlock_ruleset_attr of ABI version 6. Older kernels accept a prefix of it.
struct LandlockRuleset {
  uint64_t files, network, scopes;
};

int landlock_version() { return int(syscall(SYS_landlock_create_ruleset, nullptr, 0, 1)); }

void allow_path_access(int rules, const std::string& path, uint64_t access) {
  int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) access &= kFileRights;
  landlock_path_beneath_attr rule{access, fd};
  syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(fd);
}

Status restrict_files(const Confinement& what) {
  int version = std::min(landlock_version(), what.max_landlock_abi);
  if (version < 1) return Unit{};
  uint64_t all = kAbi1Rights;
  all |= (version >= 2 ? kReferRight : 0) | (version >= 3 ? kTruncateRight : 0) | (version >= 5 ? kIoctlRight : 0);
  LandlockRuleset set{all, version >= 4 ? kNetworkRights : 0, version >= 6 ? kAllScopes : 0};
  size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  int rules = int(syscall(SYS_landlock_create_ruleset, &set, size, 0));
  if (rules < 0) return confinement_error("Landlock", errno);
  if (what.rights == WorkerRights::Compile) {
    std::error_code error;  // allow reading clang's headers
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    allow_path_access(rules, program.parent_path().parent_path() / "lib/tgc/clang",
                      kReadRights & ~uint64_t(LANDLOCK_ACCESS_FS_EXECUTE));
    for (const char* folder : {"/usr", "/opt", "/lib", "/lib64", "/etc/ld.so.cache", "/proc/cpuinfo", "/sys/devices"})
      allow_path_access(rules, folder, kReadRights & ~uint64_t(LANDLOCK_ACCESS_FS_EXECUTE));
  }
  if (what.rights == WorkerRights::Driver) {
    // Makes files readable except most of those in /dev, which has the terminals.
    allow_path_access(rules, "/", LANDLOCK_ACCESS_FS_READ_DIR);
    for (const std::string& name : entry_names_in("/"))
      if (name != "dev") allow_path_access(rules, "/" + name, kReadRights);
    for (const char* path : {"/dev/random", "/dev/urandom"}) allow_path_access(rules, path, kReadRights);
    for (const std::string& path : what.writable_paths) allow_path_access(rules, path, all);
    // libcuda names its threads, and cuInit fails if it cannot
    allow_path_access(rules, "/proc/self/task", LANDLOCK_ACCESS_FS_WRITE_FILE | (all & kTruncateRight));
  }
  bool done = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  int error = errno;
  close(rules);
  return done ? Status(Unit{}) : confinement_error("Landlock", error);
}
#else
int landlock_version() { return 0; }
Status restrict_files(const Confinement&) { return Unit{}; }
#endif

#ifdef TGC_SECCOMP
constexpr bool kSeccomp = !kIsSanitized;

constexpr const char* kCompute[] = {
    "brk", "munmap", "mremap", "mprotect", "madvise", "futex", "futex_waitv", "membarrier", "rseq", "set_robust_list",
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "sched_yield",
    "sched_getaffinity", "getcpu", "getrandom", "getpid", "gettid", "getrusage", "times", "rt_sigreturn",
    "rt_sigprocmask", "rt_sigaction", "sigaltstack", "restart_syscall", "exit", "exit_group"};

// Calls that read files (Landlock restricts which), or facts about the system and the process.
constexpr const char* kCompile[] = {
    "pread64", "lseek", "close", "stat", "lstat", "statx", "access", "faccessat", "faccessat2", "readlink",
    "readlinkat", "getcwd", "getdents64", "uname", "sysinfo", "getuid", "geteuid", "getgid", "getegid", "getrlimit",
    "statfs", "fstatfs"};

// Calls that Driver workers may make, besides those of kCompute and kCompile.
constexpr const char* kDriver[] = {
    "creat", "write", "readv", "writev", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "sendfile", "splice",
    "tee", "vmsplice", "copy_file_range", "ftruncate", "fallocate", "fadvise64", "readahead", "sync_file_range",
    "fsync", "fdatasync", "flock", "umask", "getdents", "chdir", "fchdir", "rename", "renameat", "renameat2", "mkdir",
    "mkdirat", "rmdir", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "getxattr", "lgetxattr",
    "fgetxattr", "listxattr", "llistxattr", "flistxattr", "close_range", "dup", "dup2", "dup3", "pipe", "pipe2",
    "memfd_create", "inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch",
    "mmap", "msync", "mincore", "mlock", "mlock2", "munlock", "mlockall", "munlockall", "mbind", "set_mempolicy",
    "get_mempolicy", "pkey_alloc", "pkey_free", "pkey_mprotect",
    "fork", "vfork", "execve", "execveat", "wait4", "waitid", "set_tid_address", "arch_prctl", "getppid", "getpgid",
    "getpgrp", "getsid", "getgroups", "getresuid", "getresgid", "capget", "setrlimit", "getpriority",
    "sched_getscheduler", "sched_getparam", "sched_getattr", "sched_get_priority_max", "sched_get_priority_min",
    "sched_rr_get_interval", "rt_sigpending", "rt_sigtimedwait", "rt_sigsuspend", "pause",
    "poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
    "epoll_pwait2", "eventfd", "eventfd2", "signalfd", "signalfd4", "timerfd_create", "timerfd_settime",
    "timerfd_gettime", "timer_create", "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete", "alarm",
    "getitimer", "setitimer", "socketpair", "shutdown", "getsockopt", "setsockopt", "getsockname", "getpeername",
    "recvfrom", "recvmsg", "recvmmsg"};

// Calls that reach other processes, the network or the system. In a Driver worker they raise SIGSYS, so that the error
// names the call.
constexpr const char* kNoDriver[] = {
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "pidfd_open",
    "pidfd_getfd", "pidfd_send_signal", "kcmp", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "setpriority",
    "sched_setscheduler", "sched_setparam", "sched_setattr", "ioprio_set", "migrate_pages", "perf_event_open",
    "mount", "umount2", "move_mount", "fsopen", "fsmount", "open_tree", "mount_setattr", "pivot_root", "chroot",
    "unshare", "setns", "bpf", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "init_module",
    "finit_module", "kexec_load", "kexec_file_load", "reboot", "mknod", "mknodat", "add_key", "keyctl", "request_key",
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "capset", "setsid", "setpgid",
    "accept", "accept4", "sendto", "sendmsg", "sendmmsg"};

// In a Driver worker, these calls fail with EPERM, unless an earlier rule allows them.
constexpr const char* kRefused[] = {
    "socket", "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr",
    "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "utime", "utimes", "utimensat", "futimesat",
    "personality"};

using BpfProgram = std::vector<sock_filter>;

// restrict_system_calls() replaces these by the worker's process id and channel.
constexpr uint32_t kProcessIdPlaceholder = 0x5E1F5E1F, kChannelPlaceholder = 0x0C4A77E1;

constexpr uint32_t kAllowAction = SECCOMP_RET_ALLOW, kTrapAction = SECCOMP_RET_TRAP;
constexpr uint32_t errno_action(uint32_t error) { return SECCOMP_RET_ERRNO | error; }

struct ArgumentCondition {
  uint32_t offset, mask, value;
};
// The kernel reads the low 32 bits of an int argument.
ArgumentCondition int_argument_equals(unsigned argument, uint32_t value, uint32_t mask = ~0u) {
  constexpr unsigned kLow = std::endian::native == std::endian::little ? 0 : 4;
  return {uint32_t(offsetof(seccomp_data, args)) + 8 * argument + kLow, mask, value};
}

// Makes a BPF program that finds the rules of a system call by binary search over the numbers of calls.
class SeccompFilter {
 public:
  explicit SeccompFilter(uint32_t otherwise) : default_rules_{{{}, otherwise}} {}

  template <size_t N>
  void add_rule(uint32_t action, const char* const (&names)[N]) {
    for (const char* name : names) add_rule(action, name);
  }
  // The first rule of the call whose conditions hold decides. Does nothing if this machine has no such call.
  void add_rule(uint32_t action, const char* name, std::vector<ArgumentCondition> when = {}) {
    if (int number = seccomp_syscall_resolve_name(name); number >= 0)
      rules_[uint32_t(number)].push_back({std::move(when), action});
  }

  BpfProgram make_program() const {
    std::vector<CallRange> ranges{{0, &default_rules_}};
    auto append = [&](uint32_t first_call, const Rules& rules) {
      if (ranges.back().first_call == first_call) ranges.pop_back();
      bool goes_on = !ranges.empty() && rules[0].conditions.empty() &&
                     ranges.back().rules->front().conditions.empty() &&
                     rules[0].action == ranges.back().rules->front().action;
      if (!goes_on) ranges.push_back({first_call, &rules});
    };
    for (auto& [number, rules] : rules_) append(number, rules), append(number + 1, default_rules_);
    BpfProgram out;
    emit_load(out, offsetof(seccomp_data, arch));
    out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 1, 0));
    out.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    emit_load(out, offsetof(seccomp_data, nr));
    emit_search(ranges, out);
    return out;
  }

 private:
  struct Rule {
    std::vector<ArgumentCondition> conditions;
    uint32_t action;
  };
  using Rules = std::vector<Rule>;
  struct CallRange {
    uint32_t first_call;
    const Rules* rules;
  };

  static void emit_load(BpfProgram& out, size_t offset) {
    out.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, uint32_t(offset)));
  }

  void emit_search(std::span<const CallRange> ranges, BpfProgram& out) const {
    if (ranges.size() == 1) return emit_rule_checks(*ranges[0].rules, out);
    const size_t half = ranges.size() / 2;
    out.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ranges[half].first_call, 0, 1));
    const size_t jump = out.size();
    out.push_back(BPF_STMT(BPF_JMP | BPF_JA, 0));
    emit_search(ranges.first(half), out);
    out[jump].k = uint32_t(out.size() - jump - 1);
    emit_search(ranges.subspan(half), out);
  }
  void emit_rule_checks(const Rules& rules, BpfProgram& out) const {
    for (const Rule& rule : rules) {
      size_t left = 3 * rule.conditions.size() + 1;
      for (const ArgumentCondition& c : rule.conditions) {
        emit_load(out, c.offset);
        out.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, c.mask));
        left -= 3;
        out.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c.value, 0, uint8_t(left)));
      }
      out.push_back(BPF_STMT(BPF_RET | BPF_K, rule.action));
      if (rule.conditions.empty()) return;
    }
    out.push_back(BPF_STMT(BPF_RET | BPF_K, default_rules_[0].action));
  }

  Rules default_rules_;
  std::map<uint32_t, Rules> rules_;
};

// Adds rules for calls that Compile and Driver workers may make with certain arguments.
void add_argument_rules(SeccompFilter& filter, bool is_driver) {
  constexpr uint32_t kTcgets2 = 0x802C542A, kSetVma = 0x53564D41;
  // isatty() and the query of a terminal's width fail as if there were no terminal
  for (uint32_t command : {uint32_t(TCGETS), kTcgets2, uint32_t(TIOCGWINSZ)})
    filter.add_rule(errno_action(ENOTTY), "ioctl", {int_argument_equals(1, command)});
  // the mask allows FIONCLEX and FIOCLEX
  filter.add_rule(kAllowAction, "ioctl", {int_argument_equals(1, FIONCLEX, ~1u)});
  // F_SETOWN and F_SETSIG make the kernel send signals to other processes, so they are not allowed
  filter.add_rule(kAllowAction, "fcntl",
                  {int_argument_equals(1, F_DUPFD, ~7u)});  // the mask allows all commands from F_DUPFD to F_SETLKW
  // the mask allows F_OFD_GETLK, F_OFD_SETLK and F_OFD_SETLKW
  filter.add_rule(kAllowAction, "fcntl", {int_argument_equals(1, F_OFD_GETLK, ~3u)});
  filter.add_rule(kAllowAction, "fcntl", {int_argument_equals(1, F_GETPIPE_SZ, ~7u)});  // also the seals of a memfd
  filter.add_rule(kAllowAction, "fcntl", {int_argument_equals(1, F_DUPFD_CLOEXEC)});
  if (!is_driver) {
    // the worker's own limits, for reading: process 0 is the caller, and the pointer to new limits (two words) is null
    constexpr uint32_t kNewLimit = offsetof(seccomp_data, args) + 16;
    filter.add_rule(kAllowAction, "prlimit64",
                    {int_argument_equals(0, 0), {kNewLimit, ~0u, 0}, {kNewLimit + 4, ~0u, 0}});
    return;
  }
  for (const char* name : {"prlimit64", "sched_setaffinity", "move_pages"})
    filter.add_rule(kAllowAction, name, {int_argument_equals(0, 0)});  // process 0 is the caller
  filter.add_rule(kAllowAction, "fcntl", {int_argument_equals(1, F_SETPIPE_SZ)});
  for (uint32_t command : {FIONREAD, FIONBIO})
    filter.add_rule(kAllowAction, "ioctl", {int_argument_equals(1, command)});
  // The second byte names a driver: NVIDIA (F, and 0 for unified memory), graphics (d), shared buffers (b, >), Windows
  // (G), and AMD's KFD (K, with a direction; without a direction, K is the console).
  for (char driver : {'F', '\0', 'd', 'b', '>', 'G'})
    filter.add_rule(kAllowAction, "ioctl", {int_argument_equals(1, uint32_t(driver) << 8, 0xFF00)});
  for (uint32_t direction : {1u << 30, 1u << 31})
    filter.add_rule(kAllowAction, "ioctl", {int_argument_equals(1, direction | 'K' << 8, direction | 0xFF00)});
  for (uint32_t command : {TIOCSTI, TIOCLINUX})  // these type into a terminal
    filter.add_rule(kTrapAction, "ioctl", {int_argument_equals(1, command)});
  // The operations 0 to 55, and PR_SET_VMA. PR_SCHED_CORE (62) reaches other processes.
  constexpr std::pair<uint32_t, uint32_t> kOperations[] = {{0, ~31u}, {32, ~15u}, {48, ~7u}, {kSetVma, ~0u}};
  for (auto [first, mask] : kOperations) filter.add_rule(kAllowAction, "prctl", {int_argument_equals(0, first, mask)});
  // No new namespaces, and no siblings of the worker (CLONE_PARENT). clone3 fails with ENOSYS, because a filter cannot
  // see its flags; the C library then calls clone.
  constexpr uint32_t kSpaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                               CLONE_NEWPID | CLONE_NEWNET;
  filter.add_rule(kAllowAction, "clone", {int_argument_equals(0, 0, kSpaces | CLONE_PARENT)});
}

BpfProgram build_seccomp_program(WorkerRights rights) {
  const bool is_driver = rights == WorkerRights::Driver;
  SeccompFilter filter(is_driver ? errno_action(ENOSYS) : kTrapAction);
  filter.add_rule(kAllowAction, kCompute);
  filter.add_rule(kAllowAction, "tgkill", {int_argument_equals(0, kProcessIdPlaceholder)});  // abort() calls it
  if (rights == WorkerRights::Compute) {
    for (const char* name : {"read", "write"})
      filter.add_rule(kAllowAction, name, {int_argument_equals(0, kChannelPlaceholder)});
    filter.add_rule(kAllowAction, "mmap", {int_argument_equals(3, MAP_ANONYMOUS, MAP_ANONYMOUS)});
    // the C library calls fstat when it flushes its output, and SIGSYS would kill the worker
    for (const char* name : {"fstat", "newfstatat"}) filter.add_rule(errno_action(EACCES), name);
    return filter.make_program();
  }
  filter.add_rule(kAllowAction, kCompile);
  for (const char* name : {"read", "fstat", "newfstatat"}) filter.add_rule(kAllowAction, name);
  add_argument_rules(filter, is_driver);
  if (is_driver) {
    filter.add_rule(kAllowAction, kDriver);
    // cuInit needs these: libcuda looks for the server that shares a GPU (MPS), and listens on its own socket
    filter.add_rule(kAllowAction, "socket",
                    {int_argument_equals(0, AF_UNIX), int_argument_equals(1, SOCK_SEQPACKET, 0xF)});
    filter.add_rule(errno_action(ENOENT), "connect");
    for (const char* name : {"bind", "listen"}) filter.add_rule(kAllowAction, name);
    filter.add_rule(kTrapAction, kNoDriver);
    filter.add_rule(errno_action(EPERM), kRefused);
    // Landlock before version 3 does not prevent truncation by opening a file for reading. openat2 is not allowed,
    // because a filter cannot read its flags.
    for (auto [name, flags] : {std::pair("open", 1u), std::pair("openat", 2u)}) {
      filter.add_rule(kAllowAction, name, {int_argument_equals(flags, O_RDONLY, O_ACCMODE | O_TRUNC)});
      for (uint32_t access : {O_WRONLY, O_RDWR})
        filter.add_rule(kAllowAction, name, {int_argument_equals(flags, access, O_ACCMODE)});
    }
    filter.add_rule(kAllowAction, "kill", {int_argument_equals(0, kProcessIdPlaceholder)});
    for (const char* name : {"kill", "tgkill"}) filter.add_rule(kTrapAction, name);
    return filter.make_program();
  }
  constexpr uint32_t kWrites = O_ACCMODE | O_CREAT | O_TRUNC;
  filter.add_rule(kAllowAction, "mmap");
  filter.add_rule(kAllowAction, "write", {int_argument_equals(0, kChannelPlaceholder)});
  filter.add_rule(kAllowAction, "openat", {int_argument_equals(2, O_RDONLY, kWrites)});
  filter.add_rule(kAllowAction, "open", {int_argument_equals(1, O_RDONLY, kWrites)});
  return filter.make_program();
}

template <WorkerRights kRights>
Result<BpfProgram>& seccomp_program_for() {
  static Result<BpfProgram> made =
      catch_failures([] { return kSeccomp ? build_seccomp_program(kRights) : BpfProgram(); });
  return made;
}
Result<BpfProgram>& seccomp_program_for(WorkerRights rights) {
  return rights == WorkerRights::Compute   ? seccomp_program_for<WorkerRights::Compute>()
         : rights == WorkerRights::Compile ? seccomp_program_for<WorkerRights::Compile>()
                                     : seccomp_program_for<WorkerRights::Driver>();
}
void restrict_system_calls(Result<BpfProgram>& made, int channel) {
  if (!kSeccomp) return;
  BpfProgram program = made.value_or_throw();
  for (sock_filter& step : program)
    if (BPF_CLASS(step.code) == BPF_JMP && step.k == kProcessIdPlaceholder) step.k = uint32_t(getpid());
    else if (BPF_CLASS(step.code) == BPF_JMP && step.k == kChannelPlaceholder) step.k = uint32_t(channel);
  sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
  // TSYNC: all threads get the filter. The result may be the id of a thread that cannot.
  long failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole);
  if (failed) throw Failure(confinement_error("seccomp", failed > 0 ? ESRCH : errno));
}
#else
constexpr bool kSeccomp = false;
int seccomp_program_for(WorkerRights) { return 0; }
void restrict_system_calls(int, int) {}
#endif

}  // namespace

void prepare_confinement() { (void)seccomp_program_for(WorkerRights::Compute); }

constexpr std::string_view kRightsNames[] = {"memory and messages", "reading compilers' files", "what drivers need"};

Status confine_process(const Confinement& what, int channel) {
  log_debug(LogTopic::Contain, [&] { return "confines itself to " + std::string(kRightsNames[size_t(what.rights)]); });
  return catch_failures([&] {
    auto&& program = seccomp_program_for(what.rights);  // build it before the memory limit is set
    if (!kIsSanitized) close_inherited_descriptors(channel).value_or_throw();
    set_resource_limits(what);
#if TGC_LINUX && defined(__GLIBC__)
    mallopt(M_ARENA_MAX, 8);  // otherwise malloc, when out of memory, opens a file
#endif
#if TGC_LINUX
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) throw Failure(confinement_error("no new privileges", errno));
#endif
    if (!kIsSanitized) restrict_files(what).value_or_throw();
    restrict_system_calls(program, channel);
    return Unit{};
  });
}

std::string active_sandbox_mechanisms() {
  return std::string(kSeccomp ? "seccomp, " : "") + (!kIsSanitized && landlock_version() > 0 ? "Landlock, " : "") +
         "limits";
}

std::string system_call_name(int number) {
#ifdef TGC_SECCOMP
  if (char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number)) {
    std::string out = name;
    std::free(name);
    return out;
  }
#endif
  return "call " + std::to_string(number);
}

std::vector<std::string> driver_writable_paths(const std::string& temporary) {
  namespace fs = std::filesystem;
  std::vector<std::string> out{temporary, "/dev/null", "/dev/zero", "/dev/shm", "/dev/dri", "/dev/dxg", "/dev/kfd"};
  for (const std::string& name : entry_names_in("/dev"))
    if (name.starts_with("nvidia")) out.push_back("/dev/" + name);
  auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
  std::string home = variable("HOME"), caches = variable("XDG_CACHE_HOME");
  if (caches.empty() && !home.empty()) caches = home + "/.cache";
  std::string pocl = variable("POCL_CACHE_DIR");
  if (pocl.empty() && !caches.empty()) pocl = caches + "/pocl";
  std::error_code error;
  if (!pocl.empty()) fs::create_directories(pocl, error), out.push_back(pocl);
  if (!home.empty()) out.push_back(home + "/.nv");
  return out;
}

}  // namespace tgc
