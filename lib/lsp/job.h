// A tgc command that the user started from the editor.
#pragma once
#include <sys/types.h>
#include <optional>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// Runs a tgc command as a child process.
class Job {
 public:
  // Starts the program words[0], a path, in the folder `folder`, without standard input. Fails if it cannot start.
  static Result<Job> start(const std::vector<std::string>& words, const std::string& folder);
  Job(Job&& other) noexcept;
  Job& operator=(Job&&) = delete;
  ~Job();  // kills the process, and the processes that it started, if it has not ended

  int output() const { return fd_; }  // readable if read() has something to do
  // Reads the output that is there. Returns the exit code, or 128 + the signal, if the process has ended.
  std::optional<int> read();
  const std::string& text() const { return text_; }  // standard output and standard error so far

 private:
  Job(pid_t pid, int fd) : pid_(pid), fd_(fd) {}

  pid_t pid_;  // 0: ended
  int fd_;
  std::string text_;
};

}  // namespace tgc
