#include "lib/live/answerer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "lib/contain/process.h"
#include "lib/support/counted.h"
#include "lib/support/limits.h"
#include "lib/support/log.h"

namespace tgc {
namespace {

using Clock = std::chrono::steady_clock;

// Number of checks whether the process has exited, and the pause between them.
constexpr int kMaxExitChecks = 200;
constexpr useconds_t kPauseMicroseconds = 10000;

bool is_ready(int fd, short events, int milliseconds) {
  pollfd p{fd, events, 0};
  return poll(&p, 1, milliseconds) > 0;
}

// In this scope, writing to a process that has ended fails instead of killing this process.
class SigpipeBlocker {
 public:
  SigpipeBlocker() {
    sigemptyset(&sigpipe_set_), sigaddset(&sigpipe_set_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe_set_, &previous_mask_);
  }
  ~SigpipeBlocker() {
    timespec now{};
    if (!sigismember(&previous_mask_, SIGPIPE)) sigtimedwait(&sigpipe_set_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
  }
  SigpipeBlocker(const SigpipeBlocker&) = delete;

 private:
  sigset_t sigpipe_set_, previous_mask_;
};

}  // namespace

struct AnswerProcess::WaitLimits {
  double seconds;
  const std::function<bool()>& should_stop;
  Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(int64_t(seconds * 1000));

  // Waits until `fd` is ready. Fails if the time limit passes or the stop callback returns true.
  Status wait_for(int fd, short events) const {
    constexpr int kPoll = 100;  // milliseconds
    for (;;) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      if (is_ready(fd, events, int(std::clamp<int64_t>(left, 0, kPoll)))) return Unit{};
      if (should_stop && should_stop()) return Diag{"cancelled"};
      if (left > 0) continue;
      return Diag{.message = formatted("the command did not answer within %g s", seconds), .expected = "--timeout=S"};
    }
  }
};

void AnswerProcess::start() {
  Pipe to, from, alive;
  process_id_ = start_process({.argv = guarded_shell_argv(command_),
                        .in = to.read_end(),
                        .out = from.write_end(),
                        .liveness_descriptor = alive.read_end(),
                        .has_own_process_group = true})
             .value_or_throw();
  fcntl(to.write_end(), F_SETFL, fcntl(to.write_end(), F_GETFL) | O_NONBLOCK);
  input_pipe_ = to.take_write_end(), output_pipe_ = from.take_read_end(), guard_pipe_ = alive.take_write_end();
  log_info(LogTopic::Live, [&] { return "process " + std::to_string(process_id_) + " started: " + command_; });
}

AnswerProcess::~AnswerProcess() {
  for (int* end : {&input_pipe_, &output_pipe_})
    if (*end >= 0) close(std::exchange(*end, -1));
  for (int i = 0; process_id_ >= 0; i++) {
    if (waitpid(process_id_, nullptr, WNOHANG) != 0) process_id_ = -1;
    else if (i < kMaxExitChecks) usleep(kPauseMicroseconds);
    else kill();
  }
  close_pipes();
}

void AnswerProcess::close_pipes() {
  // closing guard_pipe_ makes the guard kill processes that the command left
  for (int* end : {&input_pipe_, &output_pipe_, &guard_pipe_})
    if (*end >= 0) close(std::exchange(*end, -1));
  unread_output_.clear();
}

void AnswerProcess::kill() {
  if (process_id_ < 0) return;
  ::kill(-process_id_, SIGKILL);
  waitpid(process_id_, nullptr, 0);
  process_id_ = -1;
}

void AnswerProcess::stop_process() { kill(), close_pipes(); }

std::string AnswerProcess::unsolicited_output() {
  constexpr size_t kShown = 80;
  char block[4096];
  if (unread_output_.empty() && is_ready(output_pipe_, POLLIN, 0))
    if (ssize_t n = read(output_pipe_, block, sizeof block); n > 0) unread_output_.append(block, size_t(n));
  std::string line = unread_output_.substr(0, std::min(unread_output_.find('\n'), kShown));
  return unread_output_.empty() ? "" : "'" + line + "'";
}

std::string AnswerProcess::exit_text() {
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < kMaxExitChecks && (ended = waitpid(process_id_, &status, WNOHANG)) == 0; i++)
    usleep(kPauseMicroseconds);
  if (ended == 0) return "the command closed its input or output";
  process_id_ = -1;
  if (ended < 0) return "the command ended";
  if (WIFSIGNALED(status)) return "the command was ended by signal " + std::to_string(WTERMSIG(status));
  return "the command ended with exit code " + std::to_string(WEXITSTATUS(status));
}

Status AnswerProcess::write_line(const std::string& question, const WaitLimits& limits) {
  SigpipeBlocker guard;
  std::string text = question + "\n";
  for (size_t at = 0; at < text.size();) {
    ssize_t n = write(input_pipe_, text.data() + at, text.size() - at);
    if (n > 0) {
      at += size_t(n);
    } else if (errno == EAGAIN) {
      if (auto status = limits.wait_for(input_pipe_, POLLOUT); !status) return status;
    } else if (errno != EINTR) {
      return Diag{exit_text()};
    }
  }
  return Unit{};
}

Result<std::string> AnswerProcess::ask_question(const std::string& question) {
  auto line = catch_failures([&] {
    if (input_pipe_ < 0) start();
    return std::move(ask_running_process(question).value_or_throw());
  });
  if (line) log_debug(LogTopic::Live, [&] {
      return formatted("process %d answered a question of %zu bytes with %zu bytes", int(process_id_), question.size(),
                       line->size());
    });
  else {
    log_info(LogTopic::Live, [&] { return line.diag().message + "; the next question restarts it"; });
    stop_process();
  }
  return line;
}

Result<std::string> AnswerProcess::ask_running_process(const std::string& question) {
  if (std::string early = unsolicited_output(); !early.empty())
    return Diag{"the command says more than it is asked: " + early};
  WaitLimits limits{limit_seconds_, should_stop_};
  if (auto status = write_line(question, limits); !status) return status.diag();
  for (size_t looked = 0;;) {
    if (size_t end = unread_output_.find('\n', looked); end != unread_output_.npos) {
      std::string line = unread_output_.substr(0, end);
      unread_output_.erase(0, end + 1);
      return line;
    }
    looked = unread_output_.size();
    check_limit(Limit::InputBytes, int64_t(looked));
    if (auto status = limits.wait_for(output_pipe_, POLLIN); !status) return status.diag();
    char block[65536];
    ssize_t n = read(output_pipe_, block, sizeof block);
    if (n > 0) unread_output_.append(block, size_t(n));
    else if (n == 0 || errno != EINTR) return Diag{exit_text()};
  }
}

}  // namespace tgc
