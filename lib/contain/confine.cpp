#include "lib/contain/confine.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lib/support/sanitized.h"

#ifdef __linux__
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#ifdef TGC_SECCOMP
#include <seccomp.h>
#endif

namespace tgc {
namespace {

Diag refused(const char* wall, int error) {
  return Diag{std::string("cannot confine the worker process (") + wall + "): " + std::strerror(error)};
}

// ---- limits
uint64_t address_space() {
  char text[128] = "";  // not read with stdio: its buffer would be one more page for fork to copy
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  return n > 0 ? std::strtoull(text, nullptr, 10) * uint64_t(sysconf(_SC_PAGESIZE)) : 0;
}

void lower(int which, uint64_t to) {
  rlimit limit;
  if (getrlimit(__rlimit_resource_t(which), &limit) != 0) return;
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, to);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, limit.rlim_max);
  setrlimit(__rlimit_resource_t(which), &limit);
}

void set_limits(const Confinement& what) {
  lower(RLIMIT_CORE, 0);
  if (what.rights != Rights::Driver) lower(RLIMIT_FSIZE, 0), lower(RLIMIT_NPROC, 0);
  if (what.seconds > 0) lower(RLIMIT_CPU, uint64_t(std::ceil(what.seconds)) + 1);
  if (what.memory && !kSanitized) {
    // Drivers reserve terabytes of address space, so for Rights::Driver only the data segment is limited.
    bool driver = what.rights == Rights::Driver;
    lower(driver ? RLIMIT_DATA : RLIMIT_AS, address_space() + what.memory);
  }
}

// ---- Landlock; its restrictions cannot be lifted later
#if defined(__linux__) && defined(SYS_landlock_create_ruleset)
constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr uint64_t kFirst = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;  // all rights of ABI version 1
constexpr uint64_t kRefer = 1u << 13, kTruncate = 1u << 14;          // rights added by ABI versions 2 and 3
constexpr uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;
constexpr uint64_t kNetwork = 3, kScopes = 3;  // TCP; abstract sockets and signals to processes outside the sandbox

// The struct landlock_ruleset_attr of Landlock's ABI version 6. Older kernels accept a prefix of it.
struct Ruleset {
  uint64_t files, network, scopes;
};

int landlock_version() { return int(syscall(SYS_landlock_create_ruleset, nullptr, 0, 1)); }

void allow(int rules, const std::string& path, uint64_t access) {
  int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return;  // skip a path that does not exist: it needs no rule
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) access &= kOfFiles;
  landlock_path_beneath_attr rule{access, fd};
  syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(fd);
}

Status restrict_files(const Confinement& what) {
  int version = landlock_version();
  if (version < 1) return Unit{};
  uint64_t all = kFirst | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0);
  Ruleset set{all, version >= 4 ? kNetwork : 0, version >= 6 ? kScopes : 0};
  size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  int rules = int(syscall(SYS_landlock_create_ruleset, &set, size, 0));
  if (rules < 0) return refused("Landlock", errno);
  if (what.rights == Rights::Compile)
    for (const char* folder : {"/usr", "/opt", "/lib", "/lib64", "/etc/ld.so.cache", "/proc/cpuinfo", "/sys/devices"})
      allow(rules, folder, kRead & ~uint64_t(LANDLOCK_ACCESS_FS_EXECUTE));
  if (what.rights == Rights::Driver) {
    allow(rules, "/", kRead);
    for (const std::string& path : what.writable) allow(rules, path, all);
  }
  bool done = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  int error = errno;
  close(rules);
  return done ? Status(Unit{}) : refused("Landlock", error);
}
#else
int landlock_version() { return 0; }
Status restrict_files(const Confinement&) { return Unit{}; }
#endif

// ---- seccomp
#ifdef TGC_SECCOMP
constexpr bool kSeccomp = !kSanitized;

// System calls for memory, clocks, existing threads and exit.
constexpr const char* kCompute[] = {
    "brk", "munmap", "mremap", "mprotect", "madvise", "futex", "futex_waitv", "membarrier", "rseq", "set_robust_list",
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "sched_yield",
    "sched_getaffinity", "getcpu", "getrandom", "getpid", "gettid", "getrusage", "times", "rt_sigreturn",
    "rt_sigprocmask", "rt_sigaction", "sigaltstack", "restart_syscall", "exit", "exit_group"};

// System calls that read files. Landlock restricts which files.
constexpr const char* kCompile[] = {
    "read", "pread64", "lseek", "close", "fstat", "stat", "lstat", "newfstatat", "statx", "access", "faccessat",
    "faccessat2", "readlink", "readlinkat", "getcwd", "getdents64", "fcntl", "uname", "sysinfo", "getuid", "geteuid",
    "getgid", "getegid", "prlimit64", "getrlimit", "statfs", "fstatfs", "ioctl"};

// System calls that drivers do not need and that affect more than this process. They raise SIGSYS.
constexpr const char* kNoDriver[] = {
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_open", "pidfd_getfd",
    "pidfd_send_signal", "kcmp", "mount", "umount2", "move_mount", "fsopen", "fsmount", "open_tree", "mount_setattr",
    "pivot_root", "chroot", "unshare", "setns", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup",
    "io_uring_enter", "io_uring_register", "init_module", "finit_module", "delete_module", "kexec_load",
    "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl", "sethostname", "setdomainname",
    "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "mknod", "mknodat", "add_key", "keyctl",
    "request_key", "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "capset",
    "setsid", "setpgid", "iopl", "ioperm", "modify_ldt", "setpriority", "sched_setscheduler", "ioprio_set", "syslog",
    "vhangup", "nfsservctl", "bind", "connect", "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg"};

// System calls that linkers and libraries try but do not depend on. They fail with EPERM.
constexpr const char* kRefused[] = {
    "socket", "chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "setxattr", "lsetxattr",
    "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "utime", "utimes", "utimensat", "futimesat",
    "personality"};

using Program = std::vector<sock_filter>;

// Placeholders in a filter program, for which restrict_calls() inserts the worker's process id and channel.
constexpr uint32_t kSelf = 0x5E1F5E1F, kChannel = 0x0C4A77E1;

class Filter {
 public:
  explicit Filter(uint32_t otherwise) : context_(seccomp_init(otherwise)) {
    if (!context_) throw Failure(refused("seccomp", ENOMEM));
    // Sort the comparisons into a binary tree, because the kernel runs the installed filter for every system call.
    seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  }
  ~Filter() { seccomp_release(context_); }
  template <size_t N>
  void add(uint32_t action, const char* const (&names)[N]) {
    for (const char* name : names) add(action, name);
  }
  // Adds a rule for the system call `name`. Does nothing if this architecture does not have it.
  template <class... Condition>
  void add(uint32_t action, const char* name, Condition... when) {
    int number = seccomp_syscall_resolve_name(name);
    if (number < 0) return;
    int error = seccomp_rule_add(context_, action, number, unsigned(sizeof...(when)), when...);
    if (error) throw Failure(refused("seccomp", -error));
  }
  // Returns the BPF program. Exports it through a pipe, which RLIMIT_FSIZE does not affect.
  Program program() const {
    constexpr size_t kMost = 4096;  // instructions; fits into the pipe's buffer
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw Failure(refused("seccomp", errno));
    int error = seccomp_export_bpf(context_, ends[1]);
    Program out(kMost);
    ssize_t bytes = error ? 0 : read(ends[0], out.data(), kMost * sizeof(sock_filter));
    close(ends[0]), close(ends[1]);
    if (error || bytes <= 0) throw Failure(refused("seccomp", error ? -error : EIO));
    out.resize(size_t(bytes) / sizeof(sock_filter));
    return out;
  }

 private:
  scmp_filter_ctx context_;
};

Program program_of(Rights rights) {
  if (rights == Rights::Driver) {
    Filter filter(SCMP_ACT_ALLOW);
    filter.add(SCMP_ACT_TRAP, kNoDriver);
    filter.add(SCMP_ACT_ERRNO(EPERM), kRefused);
    for (const char* name : {"kill", "tgkill"}) filter.add(SCMP_ACT_TRAP, name, SCMP_A0(SCMP_CMP_NE, kSelf));
    return filter.program();
  }
  Filter filter(SCMP_ACT_TRAP);
  filter.add(SCMP_ACT_ALLOW, kCompute);
  filter.add(SCMP_ACT_ALLOW, "write", SCMP_A0(SCMP_CMP_EQ, kChannel));
  filter.add(SCMP_ACT_ALLOW, "tgkill", SCMP_A0(SCMP_CMP_EQ, kSelf));  // for abort()
  constexpr scmp_datum_t kNoFile = MAP_ANONYMOUS;
  if (rights == Rights::Compute) {
    filter.add(SCMP_ACT_ALLOW, "read", SCMP_A0(SCMP_CMP_EQ, kChannel));
    filter.add(SCMP_ACT_ALLOW, "mmap", SCMP_A3(SCMP_CMP_MASKED_EQ, kNoFile, kNoFile));
    // the C library calls fstat on its output when it flushes; make fstat fail, because SIGSYS would kill the worker
    for (const char* name : {"fstat", "newfstatat"}) filter.add(SCMP_ACT_ERRNO(EACCES), name);
  } else {
    filter.add(SCMP_ACT_ALLOW, kCompile);
    filter.add(SCMP_ACT_ALLOW, "mmap");
    constexpr scmp_datum_t kWrites = O_ACCMODE | O_CREAT | O_TRUNC;
    filter.add(SCMP_ACT_ALLOW, "openat", SCMP_A2(SCMP_CMP_MASKED_EQ, kWrites, O_RDONLY));
    filter.add(SCMP_ACT_ALLOW, "open", SCMP_A1(SCMP_CMP_MASKED_EQ, kWrites, O_RDONLY));
  }
  return filter.program();
}

template <Rights kRights>
Result<Program>& program_for() {
  static Result<Program> made = catch_failures([] { return kSeccomp ? program_of(kRights) : Program(); });
  return made;
}
Result<Program>& program_for(Rights rights) {
  return rights == Rights::Compute   ? program_for<Rights::Compute>()
         : rights == Rights::Compile ? program_for<Rights::Compile>()
                                     : program_for<Rights::Driver>();
}
void restrict_calls(Result<Program>& made, int channel) {
  if (!kSeccomp) return;
  Program program = made.value_or_throw();
  for (sock_filter& step : program)
    if (BPF_CLASS(step.code) == BPF_JMP && step.k == kSelf) step.k = uint32_t(getpid());
    else if (BPF_CLASS(step.code) == BPF_JMP && step.k == kChannel) step.k = uint32_t(channel);
  sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
  // TSYNC applies the filter to all threads; the result is the id of a thread to which it cannot be applied
  long failed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole);
  if (failed) throw Failure(refused("seccomp", failed > 0 ? ESRCH : errno));
}
#else
constexpr bool kSeccomp = false;
int program_for(Rights) { return 0; }
void restrict_calls(int, int) {}
#endif

}  // namespace

void prepare_confinement() { (void)program_for(Rights::Compute); }

Status confine(const Confinement& what, int channel) {
  return catch_failures([&] {
    ::alarm(10);  // ends the worker if libseccomp loops forever, as it can after a failed allocation
    auto&& program = program_for(what.rights);  // built now, because the memory limit may be too low for it
    ::alarm(0);
    set_limits(what);
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 8);  // otherwise malloc, when out of memory, opens a file to count the processors
#endif
#ifdef __linux__
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) throw Failure(refused("no new privileges", errno));
#endif
    if (!kSanitized) restrict_files(what).value_or_throw();
    restrict_calls(program, channel);
    return Unit{};
  });
}

std::string walls() {
  return std::string(kSeccomp ? "seccomp, " : "") + (!kSanitized && landlock_version() > 0 ? "Landlock, " : "") +
         "limits";
}

std::string call_name(int number) {
#ifdef TGC_SECCOMP
  if (char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number)) {
    std::string out = name;
    std::free(name);
    return out;
  }
#endif
  return "call " + std::to_string(number);
}

std::vector<std::string> writable_for_drivers(const std::string& temporary) {
  namespace fs = std::filesystem;
  std::vector<std::string> out{temporary, "/dev/null", "/dev/zero", "/dev/shm", "/dev/dri", "/dev/kfd"};
  std::error_code error;
  for (fs::directory_iterator it("/dev", error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with("nvidia")) out.push_back(it->path().string());
  auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
  std::string home = variable("HOME"), caches = variable("XDG_CACHE_HOME");
  if (caches.empty() && !home.empty()) caches = home + "/.cache";
  std::string pocl = variable("POCL_CACHE_DIR");
  if (pocl.empty() && !caches.empty()) pocl = caches + "/pocl";
  if (!pocl.empty()) fs::create_directories(pocl, error), out.push_back(pocl);
  if (!home.empty()) out.push_back(home + "/.nv");
  return out;
}

}  // namespace tgc
