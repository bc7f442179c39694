// A child process that answers questions; each question and answer is a line. It is killed when this process ends, even
// if this process itself is killed.
#pragma once
#include <functional>
#include <string>

#include "lib/support/result.h"

namespace tgc {

// The process starts at the first question. After a failure, the next question starts a new one, so that a late answer
// is not taken for the answer to another question.
class AnswerProcess {
 public:
  // /bin/sh runs `command`. `seconds` limits the time of each answer. `stop`, called several times a second, ends
  // the wait if it returns true.
  AnswerProcess(std::string command, double seconds, std::function<bool()> stop)
      : command_(std::move(command)), limit_seconds_(seconds), should_stop_(std::move(stop)) {}
  AnswerProcess(const AnswerProcess&) = delete;
  ~AnswerProcess();  // closes the process's input, and kills it if it does not end soon

  // Sends a question and returns the answer without its line end. Fails if the process gives no answer in time, if
  // `stop` returns true, if the answer is too long, or if the process wrote anything before the question. Every failure
  // kills the process.
  Result<std::string> ask_question(const std::string& question);
  // Kills the process; the next question starts a new one. For callers that find an answer invalid.
  void stop_process();
  void set_limit_seconds(double seconds) { limit_seconds_ = seconds; }

 private:
  struct WaitLimits;
  void start();
  Result<std::string> ask_running_process(const std::string& question);
  Status write_line(const std::string& question, const WaitLimits& limits);
  std::string unsolicited_output();
  std::string exit_text();
  void kill();
  void close_pipes();

  std::string command_;
  double limit_seconds_;
  std::function<bool()> should_stop_;
  // -1: not running
  int process_id_ = -1, input_pipe_ = -1, output_pipe_ = -1;
  // write end of the guard's pipe (guarded_shell_argv), which closes when this process ends
  int guard_pipe_ = -1;
  std::string unread_output_;
};

}  // namespace tgc
