// tgc_fail_call KIND N COMMAND..., for scripts/tests/faults: runs a command and lets the N-th system call of a kind
// fail, counted over all its processes and threads. Exits with the command's exit code, with 128 + S after signal S, or
// with 125 after an error of its own.
// tgc_fail_call count FILE COMMAND...: lets no call fail and writes a line "KIND N" to FILE for each kind called.
//
//   write    write, pwrite, writev, ... to anything but standard error: ENOSPC     read     read, pread: EIO
//   sync     fsync, fdatasync: EIO                                   rename   EIO
//   thread   clone with CLONE_THREAD: EAGAIN                         fork     fork, vfork, other clones: EAGAIN
//   create   openat of a file to write to: EMFILE                    folder   mkdir: EACCES
//   memory   brk, and mmap without a file by the main thread: ENOMEM
//
// Counting starts with the first sigaltstack call, which tgc's main makes early: calls that load tgc do not count, but
// calls of libraries do. A seccomp filter stops the command at calls of the kind, and ptrace makes one fail.
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Registers = user_regs_struct;

struct FailableCall {
  long number;
  std::string_view kind;
  int error;
  bool (*should_count)(pid_t, const Registers&);  // returns whether the call counts; null: it always counts
};

uint64_t clone_flags(pid_t pid, const Registers& r) {
  return r.orig_rax == SYS_clone3 ? uint64_t(ptrace(PTRACE_PEEKDATA, pid, r.rdi, nullptr)) : uint64_t(r.rdi);
}
bool makes_thread(pid_t pid, const Registers& r) { return clone_flags(pid, r) & CLONE_THREAD; }
bool makes_process(pid_t pid, const Registers& r) { return !makes_thread(pid, r); }
bool is_not_to_stderr(pid_t, const Registers& r) { return r.rdi != STDERR_FILENO; }
bool opens_to_write(pid_t, const Registers& r) { return r.rdx & (O_WRONLY | O_RDWR | O_CREAT); }
bool is_main_thread(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;)
    if (word == "Tgid:") return status >> word && word == std::to_string(pid);
  return false;
}
// jemalloc crashes if the first mmap of another thread fails.
bool is_anonymous_in_main_thread(pid_t pid, const Registers& r) {
  return (r.r10 & MAP_ANONYMOUS) && is_main_thread(pid);
}
bool moves_break(pid_t, const Registers& r) { return r.rdi != 0; }

const FailableCall kCalls[] = {{SYS_write, "write", ENOSPC, is_not_to_stderr},
                               {SYS_pwrite64, "write", ENOSPC, is_not_to_stderr},
                               {SYS_writev, "write", ENOSPC, is_not_to_stderr},
                               {SYS_sendfile, "write", ENOSPC, is_not_to_stderr},
                               {SYS_copy_file_range, "write", ENOSPC, nullptr},
                               {SYS_read, "read", EIO, nullptr},
                               {SYS_pread64, "read", EIO, nullptr},
                               {SYS_fsync, "sync", EIO, nullptr},
                               {SYS_fdatasync, "sync", EIO, nullptr},
                               {SYS_rename, "rename", EIO, nullptr},
                               {SYS_renameat, "rename", EIO, nullptr},
                               {SYS_renameat2, "rename", EIO, nullptr},
                               {SYS_clone, "thread", EAGAIN, makes_thread},
                               {SYS_clone3, "thread", EAGAIN, makes_thread},
                               {SYS_clone, "fork", EAGAIN, makes_process},
                               {SYS_clone3, "fork", EAGAIN, makes_process},
                               {SYS_fork, "fork", EAGAIN, nullptr},
                               {SYS_vfork, "fork", EAGAIN, nullptr},
                               {SYS_openat, "create", EMFILE, opens_to_write},
                               {SYS_mkdir, "folder", EACCES, nullptr},
                               {SYS_mkdirat, "folder", EACCES, nullptr},
                               {SYS_mmap, "memory", ENOMEM, is_anonymous_in_main_thread},
                               {SYS_brk, "memory", ENOMEM, moves_break}};

[[noreturn]] void exit_with_error(const char* what) {
  std::perror(what);
  std::_Exit(125);
}

// Stops the command at sigaltstack and at calls of `kind`; empty: of all kinds.
void filter_calls(std::string_view kind) {
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  auto trace_call = [&](long number) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
  };
  trace_call(SYS_sigaltstack);
  for (const FailableCall& c : kCalls)
    if (kind.empty() || c.kind == kind) trace_call(c.number);
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    exit_with_error("seccomp");
}

const FailableCall* matching_call(pid_t pid, Registers& r) {
  if (ptrace(PTRACE_GETREGS, pid, nullptr, &r) != 0) return nullptr;
  for (const FailableCall& c : kCalls)
    if (c.number == long(r.orig_rax) && (!c.should_count || c.should_count(pid, r))) return &c;
  return nullptr;
}

// Traces the command and its children until all have ended. Returns the exit code of this program.
int trace_command(pid_t main, std::string_view kind, uint64_t wanted, std::map<std::string_view, uint64_t>& counts) {
  int status = 0, end = 125;
  bool has_begun = false;
  if (waitpid(main, &status, 0) != main || !WIFSTOPPED(status)) exit_with_error("waitpid");
  long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                 PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, main, nullptr, options) != 0) exit_with_error("ptrace");
  ptrace(PTRACE_CONT, main, nullptr, 0L);
  for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
    if (pid <= 0) continue;
    if (!WIFSTOPPED(status)) {
      if (pid == main) end = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      continue;
    }
    int signal = WSTOPSIG(status), event = status >> 16;
    if (event == PTRACE_EVENT_SECCOMP) {
      Registers r;
      const FailableCall* call = matching_call(pid, r);
      has_begun |= r.orig_rax == SYS_sigaltstack;
      if (call && has_begun && ++counts[call->kind] == wanted && call->kind == kind) {
        r.orig_rax = -1ull, r.rax = -(unsigned long long)(call->error);
        ptrace(PTRACE_SETREGS, pid, nullptr, &r);
      }
    }
    bool is_ours = event != 0 || signal == SIGSTOP || signal == SIGTRAP;  // ptrace caused the stop
    ptrace(PTRACE_CONT, pid, nullptr, long(is_ours ? 0 : signal));
  }
  return end;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: tgc_fail_call KIND N COMMAND... | count FILE COMMAND...\n"), 125;
  const bool counts_all = argv[1] == std::string_view("count");
  const std::string_view kind = counts_all ? "" : argv[1];
  pid_t child = fork();
  if (child < 0) exit_with_error("fork");
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) exit_with_error("ptrace");
    raise(SIGSTOP);
    filter_calls(kind);
    execvp(argv[3], argv + 3);
    exit_with_error(argv[3]);
  }
  std::map<std::string_view, uint64_t> counts;
  int end = trace_command(child, kind, counts_all ? 0 : std::strtoull(argv[2], nullptr, 10), counts);
  if (!counts_all) return end;
  std::ofstream file(argv[2]);
  for (auto& [name, count] : counts) file << name << ' ' << count << '\n';
  return end;
}
