#include "lib/contain/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "lib/contain/system.h"
#include "lib/support/deadline.h"

extern char** environ;

namespace tgc {

Pipe::Pipe() {
  if (!make_pipe(ends_)) throw Failure(std::string("cannot make a pipe: ") + std::strerror(errno));
}
int Pipe::take_pipe_end(int end) { return std::exchange(ends_[end], -1); }
void Pipe::close_pipe_end(int end) {
  if (ends_[end] >= 0) ::close(take_pipe_end(end));
}

Result<pid_t> start_process(const ProcessOptions& start) {
  std::vector<char*> args;
  for (const std::string& a : start.argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  auto give = [&](int from, int to) {
    if (from == ProcessOptions::kNullDescriptor)
      posix_spawn_file_actions_addopen(&actions, to, "/dev/null", to == 0 ? O_RDONLY : O_WRONLY, 0);
    else if (from >= 0) posix_spawn_file_actions_adddup2(&actions, from, to);
  };
  give(start.in, 0), give(start.out, 1), give(start.err, 2), give(start.liveness_descriptor, 3);
  if (!start.working_folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, start.working_folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;  // the tgc command ignores these signals
  sigemptyset(&usual), sigaddset(&usual, SIGPIPE), sigaddset(&usual, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes,
                           short(POSIX_SPAWN_SETSIGDEF | (start.has_own_process_group ? POSIX_SPAWN_SETPGROUP : 0)));
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, args[0], &actions, &attributes, args.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error) return Diag{"cannot start " + start.argv[0] + ": " + std::strerror(error)};
  return pid;
}

std::vector<std::string> guarded_shell_argv(const std::string& command) {
  constexpr const char* kGuard = "(read -r never <&3; kill -9 -$$) >/dev/null 2>&1 & exec 3<&-\n";
  return {"/bin/sh", "-c", kGuard + command};
}

int exit_code_of_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

namespace {

constexpr size_t kMostOutput = size_t(1) << 30;

// Returns the process's wait status. Polls at growing intervals, up to `longest`. Returns nullopt if `give_up` returns
// true.
template <class GiveUp>
std::optional<int> wait_for_exit(pid_t pid, std::chrono::microseconds longest, const GiveUp& give_up) {
  int status = 0;
  auto pause = std::chrono::microseconds(50);
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (give_up()) return std::nullopt;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest);
  }
  return status;
}

// Reads and appends up to 64 KiB. Returns false at the end of the file or on an error.
bool append_chunk(int fd, std::string& to) {
  char chunk[1 << 16];
  ssize_t n = ::read(fd, chunk, sizeof chunk);
  if (n > 0) to.append(chunk, size_t(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

ProcessResult run_and_collect(const std::vector<std::string>& argv, std::string_view input, int seconds) {
  Pipe in, out, err;
  const pid_t pid = start_process({.argv = argv, .in = in.read_end(), .out = out.write_end(), .err = err.write_end()})
                        .value_or_throw();
  in.close_read_end(), out.close_write_end(), err.close_write_end();
  ::fcntl(in.write_end(), F_SETFL, O_NONBLOCK);
  auto deadline = Clock::now() + std::chrono::seconds(seconds);
  auto killed = [&](const std::string& why) -> Failure {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return Failure(argv[0] + why);
  };
  auto too_late = [&] { return killed(" did not end within " + std::to_string(seconds) + " s"); };
  ProcessResult result;
  if (input.empty()) in.close_write_end();
  while (out.read_end() >= 0 || err.read_end() >= 0) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd fds[] = {{out.read_end(), POLLIN, 0}, {err.read_end(), POLLIN, 0}, {in.write_end(), POLLOUT, 0}};
    if (left <= 0 || ::poll(fds, 3, int(left)) == 0) throw too_late();
    if (fds[2].revents) {
      ssize_t n = ::write(in.write_end(), input.data(), input.size());
      if (n > 0) input.remove_prefix(size_t(n));
      if (input.empty() || (n < 0 && errno != EAGAIN && errno != EINTR)) in.close_write_end();
    }
    if (fds[0].revents && !append_chunk(out.read_end(), result.out)) out.close_read_end();
    if (fds[1].revents && !append_chunk(err.read_end(), result.err)) err.close_read_end();
    if (result.out.size() + result.err.size() > kMostOutput) throw killed(" wrote more than 1 GB");
  }
  auto ended = wait_for_exit(pid, std::chrono::milliseconds(10), [&] { return Clock::now() >= deadline; });
  if (!ended) throw too_late();
  result.exit_code = exit_code_of_status(*ended);
  return result;
}

// Ignores SIGPIPE, because a program may end before it has read its input.
void ignore_broken_pipes() {
  static const bool done = [] {
    struct sigaction old;
    if (::sigaction(SIGPIPE, nullptr, &old) == 0 && old.sa_handler == SIG_DFL) ::signal(SIGPIPE, SIG_IGN);
    return true;
  }();
  (void)done;
}

}  // namespace

Result<ProcessResult> run_process(const std::vector<std::string>& argv, std::string_view input, int seconds) {
  ignore_broken_pipes();
  return catch_failures([&] { return run_and_collect(argv, input, seconds); });
}

Result<int> run_shell(const std::string& command, const ShellOptions& options) {
  return catch_failures([&]() -> int {
    if (options.should_stop && options.should_stop()) throw Failure("cancelled");
    Pipe alive;  // when this pipe closes, the guard kills the processes that are left
    const int output = options.is_quiet ? ProcessOptions::kNullDescriptor : ProcessOptions::kInheritDescriptor;
    const pid_t pid = start_process({.argv = guarded_shell_argv(command),
                                     .in = ProcessOptions::kNullDescriptor,
                                     .out = output,
                                     .err = output,
                                     .liveness_descriptor = alive.read_end(),
                                     .has_own_process_group = true})
                          .value_or_throw();
    const Deadline deadline = deadline_within(options.limit_seconds);
    bool stopped = false;
    auto give_up = [&] { return deadline.is_over() || (stopped = options.should_stop && options.should_stop()); };
    if (auto ended = wait_for_exit(pid, std::chrono::milliseconds(100), give_up)) return exit_code_of_status(*ended);
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    if (stopped) throw Failure("cancelled");
    throw Failure(out_of_time_error(deadline.limit_seconds));
  });
}

std::string find_program(std::string_view name, const std::vector<std::string>& folders) {
  std::vector<std::string> places;
  if (const char* path = std::getenv("PATH")) {
    std::stringstream parts{std::string(path)};
    for (std::string part; std::getline(parts, part, ':');)
      if (!part.empty()) places.push_back(part);
  }
  places.insert(places.end(), folders.begin(), folders.end());
  for (const std::string& folder : places)
    if (std::string path = folder + "/" + std::string(name); ::access(path.c_str(), X_OK) == 0) return path;
  return {};
}

Result<std::string> read_whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return Diag{.message = "cannot read", .file = path};
  return text.str();
}

}  // namespace tgc
