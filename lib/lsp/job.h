// Job: a tgc command that the user started from the editor.
#pragma once
#include <sys/types.h>
#include <optional>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// A tgc command that runs as a child process.
class Job {
 public:
  // Starts the program words[0], a path, in the folder `folder`, without standard input. Fails if it cannot start.
  static Result<Job> start(const std::vector<std::string>& words, const std::string& folder);
  Job(Job&& other) noexcept;
  Job& operator=(Job&&) = delete;
  ~Job();  // kills the process, and the processes that it started, if it has not ended

  int output() const { return fd_; }  // a file descriptor, which is readable when read() should be called
  // Reads the available output. Once the process has closed its output, waits for the end of the process, and returns
  // its exit code, or 128 + the signal that killed it; returns nullopt before.
  std::optional<int> read();
  const std::string& text() const { return text_; }  // standard output and error so far, at most 16 MiB

 private:
  Job(pid_t pid, int fd) : pid_(pid), fd_(fd) {}

  pid_t pid_;  // the process; 0 if it has ended
  int fd_;
  std::string text_;
};

}  // namespace tgc
