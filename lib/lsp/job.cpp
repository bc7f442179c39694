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

constexpr size_t kMostOutput = size_t{1} << 24;  // bytes; later output is dropped

}  // namespace

Result<CommandJob> CommandJob::start(const std::vector<std::string>& words, const std::string& folder) {
  return catch_failures([&] {
    Pipe output;
    ::fcntl(output.read_end(), F_SETFL, O_NONBLOCK);
    const pid_t pid = start_process({.argv = words,
                                     .working_folder = folder,
                                     .in = ProcessOptions::kNullDescriptor,
                                     .out = output.write_end(),
                                     .err = output.write_end(),
                                     .has_own_process_group = true})
                          .value_or_throw();
    return CommandJob(pid, output.take_read_end());
  });
}

CommandJob::CommandJob(CommandJob&& other) noexcept
    : process_id_(std::exchange(other.process_id_, 0)),
      output_descriptor_(std::exchange(other.output_descriptor_, -1)),
      output_text_(std::move(other.output_text_)) {}

CommandJob::~CommandJob() {
  if (process_id_) ::kill(-process_id_, SIGKILL), ::waitpid(process_id_, nullptr, 0);
  if (output_descriptor_ >= 0) ::close(output_descriptor_);
}

std::optional<int> CommandJob::read_output() {
  char chunk[1 << 16];
  for (;;) {
    const ssize_t n = ::read(output_descriptor_, chunk, sizeof chunk);
    if (n > 0 && output_text_.size() < kMostOutput) output_text_.append(chunk, size_t(n));
    if (n > 0 || (n < 0 && errno == EINTR)) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
    break;
  }
  int status = 0;
  ::waitpid(std::exchange(process_id_, 0), &status, 0);  // usually short: the process has closed its output
  return exit_code_of_status(status);
}

}  // namespace tgc
