#include "lib/lsp/job.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <utility>

#include "lib/contain/process.h"

namespace tgc {

namespace {

constexpr size_t kMostOutput = size_t{1} << 24;  // maximum number of bytes of output; later output is dropped

}  // namespace

Result<Job> Job::start(const std::vector<std::string>& words, const std::string& folder) {
  return catch_failures([&] {
    Pipe output;
    ::fcntl(output.read_end(), F_SETFL, O_NONBLOCK);
    const pid_t pid = start_process({.argv = words,
                                     .working_folder = folder,
                                     .in = ProcessStart::kNothing,
                                     .out = output.write_end(),
                                     .err = output.write_end(),
                                     .has_own_group = true})
                          .value_or_throw();
    return Job(pid, output.take_read_end());
  });
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
  ::waitpid(std::exchange(pid_, 0), &status, 0);  // waits briefly: the process has closed its output
  return exit_code_of(status);
}

}  // namespace tgc
