#include "apps/tgc/process.h"

#include <fcntl.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include "lib/driver/session.h"
#include "lib/support/crash_context.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

// Prints to standard error without allocating memory, so that signal handlers can call it.
void write_error(auto... texts) { ((void)write_all(STDERR_FILENO, texts), ...); }

[[noreturn]] void exit_with_trouble() {
  remove_staged_files();
  _exit(2);
}

[[noreturn]] void handle_uncaught() {
  try {
    if (auto thrown = std::current_exception()) std::rethrow_exception(thrown);
    write_error("tgc: internal error: terminated\n");
  } catch (const std::bad_alloc&) {
    write_error("tgc: out of memory\n");
  } catch (const std::exception& e) {
    write_error("tgc: internal error: ", e.what(), "\n");
  } catch (...) {
    write_error("tgc: internal error: an exception of unknown kind\n");
  }
  exit_with_trouble();
}

// Runs before the constructors of static tables, which may run out of memory.
__attribute__((constructor(101))) void set_terminate_handler() { std::set_terminate(handle_uncaught); }

std::atomic<bool> memory_has_run_out;

void handle_no_memory() {
  memory_has_run_out = true;
  throw std::bad_alloc();
}

uintptr_t stack_pointer(const void* context) {
  auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return uintptr_t(registers.gregs[REG_RSP]);
#else
  return uintptr_t(registers.sp);
#endif
}

// Returns true if the faulting address is near the stack pointer, as it is after a stack overflow.
bool is_stack_overflow(const siginfo_t& info, const void* context) {
  constexpr intptr_t kNear = 1 << 16;
  auto distance = intptr_t(reinterpret_cast<uintptr_t>(info.si_addr) - stack_pointer(context));
  return -kNear <= distance && distance <= kNear;
}

constexpr std::pair<int, std::string_view> kFaults[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}};

// Ends the process with exit code 2 after a stack overflow. Other faults still end it by their signal.
void handle_fault(int number, siginfo_t* info, void* context) {
  const bool is_sent = info->si_code <= 0;  // a process sent the signal, with kill()
  if (number == SIGSEGV && !is_sent && is_stack_overflow(*info, context)) {
    write_error("tgc: the stack is too small (ulimit -s)\n");
    exit_with_trouble();
  }
  if (auto work = current_crash_context(); !work.empty())
    for (auto [fault, name] : kFaults)
      if (fault == number)
        write_error("tgc: internal error: ", name, " in ", work, "\n");
  signal(number, SIG_DFL);  // when this handler returns, the instruction faults again and ends the process
  if (is_sent) raise(number);
}

void install_fault_handlers() {
  alignas(16) static char room[1 << 16];
  stack_t own{};
  own.ss_sp = room, own.ss_size = sizeof room;
  if (sigaltstack(&own, nullptr) != 0) return;
  for (auto [fault, name] : kFaults) {
    struct sigaction action{}, old;
    if (sigaction(fault, nullptr, &old) != 0 || (old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL) continue;
    action.sa_sigaction = handle_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(fault, &action, nullptr);
  }
}

CancelRequest interrupt;

void handle_interrupt(int number) {
  if (interrupt.is_cancel_requested()) {
    remove_staged_files();
    signal(number, SIG_DFL);
    raise(number);  // ends the process when this handler returns
    return;
  }
  interrupt.request_cancel();
  write_error("tgc: stopping soon; interrupt again to stop at once\n");
}

bool install_interrupt_handler(int number) {
  struct sigaction old, action{};
  if (sigaction(number, nullptr, &old) != 0 || old.sa_handler != SIG_DFL) return false;
  action.sa_handler = handle_interrupt;
  action.sa_flags = SA_RESTART;
  return sigaction(number, &action, nullptr) == 0;
}

}  // namespace

void prepare_process() {
  // a file opened later would get the number of a closed standard stream and receive its output
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  std::set_new_handler(handle_no_memory);
  for (int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_IGN);
  install_fault_handlers();
}

bool has_memory_run_out() { return memory_has_run_out; }

CancelRequest& interrupt_request() {
  static const bool watched = install_interrupt_handler(SIGINT);
  (void)watched;
  return interrupt;
}

void handle_termination() { (void)install_interrupt_handler(SIGTERM); }

}  // namespace tgc
