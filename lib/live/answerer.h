// Answerer: a child process that reads questions from its standard input and writes answers to its standard output, one
// line each. /bin/sh starts the child in a new process group; its standard error is inherited. The child is killed when
// this process ends, even if this process is killed.
#pragma once
#include <functional>
#include <string>

#include "lib/support/result.h"

namespace tgc {

// The process starts with the first question. After a failure it is killed, and a new one starts with the next
// question, so that a late answer is never taken for the answer to the next question.
class Answerer {
 public:
  // /bin/sh runs `command`. `seconds`: time limit per answer. `stop`: called ten times a second; true ends the wait.
  Answerer(std::string command, double seconds, std::function<bool()> stop)
      : command_(std::move(command)), seconds_(seconds), stop_(std::move(stop)) {}
  Answerer(const Answerer&) = delete;
  ~Answerer();  // closes the process's input, and kills the process if it does not exit within 2 s

  // Sends a question and returns the answer without its newline. Errors: the process cannot be started or ended; the
  // time limit passed; `stop` returned true; the answer is longer than `--limit input-bytes`; the process wrote output
  // before it got the question. After each error, the process is killed.
  Result<std::string> ask(const std::string& question);
  // Kills the process, for a failure that only the caller can detect: an invalid answer.
  void fail();
  void set_seconds(double seconds) { seconds_ = seconds; }

 private:
  struct Patience;
  void start();
  Result<std::string> ask_running(const std::string& question);
  Status write_line(const std::string& question, const Patience& patience);
  std::string unsolicited_output();
  std::string end_of_child();
  void kill();
  void close_pipes();

  std::string command_;
  double seconds_;
  std::function<bool()> stop_;
  int pid_ = -1, to_ = -1, from_ = -1;  // the process and the pipes to and from it; -1: not running
  int alive_ = -1;                      // the write end of a pipe that closes when this process ends
  std::string rest_;                    // output of the process that was read but not yet returned by ask()
};

}  // namespace tgc
