#include "lib/lsp/job.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/contain/system.h"

extern char** environ;

namespace tgc {
namespace {

constexpr size_t kMostOutput = size_t{1} << 24;  // bytes; the output behind is dropped

}  // namespace

Result<Job> Job::start(const std::vector<std::string>& words, const std::string& folder) {
  int fds[2];
  if (!make_pipe(fds)) return Diag{std::string("cannot make a pipe: ") + std::strerror(errno)};
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  std::vector<char*> args;
  for (const std::string& w : words) args.push_back(const_cast<char*>(w.c_str()));
  args.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
  posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawnattr_t own_group;
  posix_spawnattr_init(&own_group);
  posix_spawnattr_setflags(&own_group, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, args[0], &actions, &own_group, args.data(), environ);
  posix_spawnattr_destroy(&own_group);
  posix_spawn_file_actions_destroy(&actions);
  ::close(fds[1]);
  if (!error) return Job(pid, fds[0]);
  ::close(fds[0]);
  return Diag{"cannot start " + words[0] + ": " + std::strerror(error)};
}

Job::Job(Job&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), fd_(std::exchange(other.fd_, -1)), text_(std::move(other.text_)) {}

Job::~Job() {
  if (pid_) ::kill(-pid_, SIGKILL), ::waitpid(pid_, nullptr, 0);
  if (fd_ >= 0) ::close(fd_);
}

std::optional<int> Job::read() {
  char chunk[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd_, chunk, sizeof chunk);
    if (n > 0 && text_.size() < kMostOutput) text_.append(chunk, size_t(n));
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
    break;
  }
  int status = 0;
  ::waitpid(std::exchange(pid_, 0), &status, 0);  // the output has ended, so the process ends, too
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace tgc
