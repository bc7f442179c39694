// A program that answers questions, a line each: started once by /bin/sh in a process group of its own, asked through
// its standard input, heard through its standard output; what it says on standard error goes where ours goes. It ends
// with this process, even where that is killed.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "lib/support/result.h"

namespace tgc {

class Answerer {
 public:
  // Errors: it cannot be started.
  static Result<Answerer> start(const std::string& command);
  Answerer(Answerer&& other) noexcept;
  Answerer& operator=(Answerer&&) = delete;
  ~Answerer();  // its input is closed, and it is ended where it does not end itself

  // The line that it answers, without the line end. Errors: it ended, it takes longer than `seconds`, `stop` said so
  // (asked ten times a second), or its line is longer than `--limit input-bytes`.
  Result<std::string> ask(const std::string& question, double seconds, const std::function<bool()>& stop);
  // What it has said since its last answer, the beginning of it; empty: nothing.
  std::string unsolicited_output();
  // Ends it and what it started.
  void kill();

 private:
  Answerer(int pid, int to, int from, int alive) : pid_(pid), to_(to), from_(from), alive_(alive) {}
  std::string end_of_child();
  struct Patience;
  Status write_line(const std::string& question, const Patience& patience);

  int pid_, to_, from_;
  int alive_;  // open as long as we live
  std::string rest_;  // read, and not yet answered
};

// The same for as long as it is needed: started when it is first asked, and anew after it failed, so that nothing late
// is taken for another question's answer.
class RestartingAnswerer {
 public:
  // `seconds`, `stop`: for each question, as above.
  RestartingAnswerer(std::string command, double seconds, std::function<bool()> stop)
      : command_(std::move(command)), seconds_(seconds), stop_(std::move(stop)) {}

  // Errors: as above; it cannot be started; it said more than it was asked. It has failed then.
  Result<std::string> ask(const std::string& question);
  // It failed in another way: what it says is no answer.
  void fail();
  // For each question from now on.
  void set_seconds(double seconds) { seconds_ = seconds; }

 private:
  std::string command_;
  double seconds_;
  std::function<bool()> stop_;
  std::optional<Answerer> running_;
};

}  // namespace tgc
