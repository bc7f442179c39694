// Answerer: a child process that answers questions, one line per question and per answer, through its standard input
// and output. /bin/sh starts it in its own process group. Its standard error is inherited. It ends when this process
// ends, even if this process is killed.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "lib/support/result.h"

namespace tgc {

class Answerer {
 public:
  // Starts `command`. Errors: the process cannot be started.
  static Result<Answerer> start(const std::string& command);
  Answerer(Answerer&& other) noexcept;
  Answerer& operator=(Answerer&&) = delete;
  ~Answerer();  // closes its input, and kills the process if it does not exit within 2 s

  // Sends a question and returns the answer without its newline. Errors: the process ended, the answer took longer than
  // `seconds`, `stop` returned true (it is called ten times a second), or the answer is longer than `--limit
  // input-bytes`.
  Result<std::string> ask(const std::string& question, double seconds, const std::function<bool()>& stop);
  // Returns the beginning of the output after the last answer; empty: there is none.
  std::string unsolicited_output();
  // Kills the process and its children.
  void kill();

 private:
  Answerer(int pid, int to, int from, int alive) : pid_(pid), to_(to), from_(from), alive_(alive) {}
  std::string end_of_child();
  struct Patience;
  Status write_line(const std::string& question, const Patience& patience);

  int pid_, to_, from_;
  int alive_;         // the write end of a pipe that closes when this process ends
  std::string rest_;  // output that was read and not yet returned
};

// An Answerer that starts with the first question and restarts after each failure, so that a late answer is never taken
// for the answer to the next question.
class RestartingAnswerer {
 public:
  // `seconds`, `stop`: see Answerer::ask.
  RestartingAnswerer(std::string command, double seconds, std::function<bool()> stop)
      : command_(std::move(command)), seconds_(seconds), stop_(std::move(stop)) {}

  // Errors: those of Answerer; unsolicited output. Each of them counts as a failure.
  Result<std::string> ask(const std::string& question);
  // Reports a failure that only the caller sees: an invalid answer.
  void fail();
  // Sets the time limit of all further questions.
  void set_seconds(double seconds) { seconds_ = seconds; }

 private:
  std::string command_;
  double seconds_;
  std::function<bool()> stop_;
  std::optional<Answerer> running_;
};

}  // namespace tgc
