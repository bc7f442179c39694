// CommandJob: a tgc command that the user started from the editor.
#pragma once
#include <sys/types.h>
#include <optional>
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

class CommandJob {
 public:
  // Starts words[0] with the words after it as arguments, in `folder`, without standard input.
  static Result<CommandJob> start(const std::vector<std::string>& words, const std::string& folder);
  CommandJob(CommandJob&& other) noexcept;
  CommandJob& operator=(CommandJob&&) = delete;
  ~CommandJob();  // kills the process group if the process has not ended

  int output_descriptor() const { return output_descriptor_; }  // when readable, call read_output()
  // Once the output is closed, waits for the end of the process, and returns its exit code, or 128 + the number of the
  // signal that killed it. Returns nullopt before.
  std::optional<int> read_output();
  const std::string& output_text() const { return output_text_; }  // truncated if long

 private:
  CommandJob(pid_t pid, int fd) : process_id_(pid), output_descriptor_(fd) {}

  pid_t process_id_;  // 0 if it has ended
  int output_descriptor_;
  std::string output_text_;
};

}  // namespace tgc
