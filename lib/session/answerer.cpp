#include "lib/session/answerer.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

#include "lib/support/limits.h"

extern char** environ;

namespace tgc {
namespace {

using Clock = std::chrono::steady_clock;

// Whether the descriptor is ready before the time is up.
bool wait_for(int fd, short events, Clock::time_point until) {
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd p{fd, events, 0};
    int n = poll(&p, 1, int(std::max<int64_t>(left, 0)));
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

Diag too_slow(double seconds) {
  return {.message = "the command did not answer within " + std::to_string(int(seconds)) + " s",
          .expected = "--timeout=S"};
}

Clock::time_point in(double seconds) { return Clock::now() + std::chrono::milliseconds(int64_t(seconds * 1000)); }

}  // namespace

Result<Answerer> Answerer::start(const std::string& command) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC)) return Diag{"cannot make a pipe: " + std::string(std::strerror(errno))};
  if (pipe2(from, O_CLOEXEC)) {
    close(to[0]), close(to[1]);
    return Diag{"cannot make a pipe: " + std::string(std::strerror(errno))};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  const char* words[] = {"sh", "-c", command.c_str(), nullptr};
  pid_t pid = 0;
  int error = posix_spawn(&pid, "/bin/sh", &actions, nullptr, const_cast<char**>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]), close(from[1]);
  if (error) {
    close(to[1]), close(from[0]);
    return Diag{"cannot start the command: " + std::string(std::strerror(error))};
  }
  fcntl(to[1], F_SETFL, fcntl(to[1], F_GETFL) | O_NONBLOCK);
  return Answerer(pid, to[1], from[0]);
}

Answerer::Answerer(Answerer&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_(std::exchange(other.to_, -1)),
      from_(std::exchange(other.from_, -1)),
      rest_(std::move(other.rest_)) {}

Answerer::~Answerer() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  if (pid_ < 0) return;
  constexpr int kTries = 40;  // 2 s, in which it may end by itself
  for (int i = 0; i < kTries; i++) {
    if (waitpid(pid_, nullptr, WNOHANG) != 0) return;
    usleep(50000);
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// How the child ended, in words.
std::string Answerer::end_of_child() {
  int status = 0;
  pid_t ended = waitpid(pid_, &status, 0);
  pid_ = -1;
  if (ended < 0) return "the command ended";
  if (WIFSIGNALED(status)) return "the command was ended by signal " + std::to_string(WTERMSIG(status));
  return "the command ended with exit code " + std::to_string(WEXITSTATUS(status));
}

Status Answerer::write_line(const std::string& question, double seconds) {
  std::string text = question + "\n";
  auto until = in(seconds);
  for (size_t at = 0; at < text.size();) {
    ssize_t n = write(to_, text.data() + at, text.size() - at);
    if (n > 0) at += size_t(n);
    else if (errno == EAGAIN && !wait_for(to_, POLLOUT, until)) return too_slow(seconds);
    else if (errno != EAGAIN && errno != EINTR) return Diag{end_of_child()};
  }
  return Unit{};
}

Result<std::string> Answerer::ask(const std::string& question, double seconds) {
  if (pid_ < 0) return Diag{"the command has ended"};
  if (auto status = write_line(question, seconds); !status) return status.diag();
  auto until = in(seconds);
  for (size_t looked = 0;;) {
    if (size_t end = rest_.find('\n', looked); end != rest_.npos) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return line;
    }
    looked = rest_.size();
    check_limit(Limit::InputBytes, int64_t(looked));
    if (!wait_for(from_, POLLIN, until)) return too_slow(seconds);
    char block[65536];
    ssize_t n = read(from_, block, sizeof block);
    if (n > 0) rest_.append(block, size_t(n));
    else if (n == 0 || errno != EINTR) return Diag{end_of_child()};
  }
}

}  // namespace tgc
