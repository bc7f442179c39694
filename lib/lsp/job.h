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
  // Starts the program at the path words[0] with the arguments after it, in the folder `folder`, without standard
  // input. Fails if the process cannot be started.
  static Result<Job> start(const std::vector<std::string>& words, const std::string& folder);
  Job(Job&& other) noexcept;
  Job& operator=(Job&&) = delete;
  ~Job();  // if the process has not ended, kills it and the processes that it started

  int output() const { return descriptor_; }  // a file descriptor; when it is readable, call read()
  // Reads the available output. Once the process has closed its output, waits for its end, and returns its exit code,
  // or 128 + the number of the signal that killed it. Returns nullopt before.
  std::optional<int> read();
  const std::string& text() const { return output_text_; }  // standard output and error so far (truncated if long)

 private:
  Job(pid_t pid, int fd) : process_id_(pid), descriptor_(fd) {}

  pid_t process_id_;  // the process; 0 if it has ended
  int descriptor_;
  std::string output_text_;
};

}  // namespace tgc
