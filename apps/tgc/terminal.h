// Output of commands: standard output, messages on standard error, colours and progress.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

enum class ColorChoice { Auto, Always, Never };
ColorChoice& color_choice();  // the value of --color
std::string& other_options();  // the given options that only the command line knows (Overrides::other_options)
// Returns true if output to `fd` may have colours: if --color says so or, by default, on a terminal without NO_COLOR.
bool use_color(int fd);

// Prints `text` to standard error, with control characters made visible (lib/support/visible.h).
void tell(std::string_view text);
// Prints "tgc: MESSAGE" to standard error and returns exit code 2.
int trouble(const Diag& diag);
// Prints "tgc: warning: MESSAGE" to standard error.
void warn(Diag diag);

// Prints `text` to standard output. If that is a terminal, control characters are made visible. If printing fails, ends
// the program with exit code 2 and, unless the reader has closed the pipe, a message.
void print(std::string_view text);
// Prints a report for people: control characters are always made visible.
void print_report(std::string_view text);
// Flushes standard output. A failure ends the program as in print().
void flush_output();
// Flushes and closes standard output and returns `exit_code`. A failure ends the program as in print().
int finish_output(int exit_code);

// Collects output, which release() prints; without a call of release(), it is discarded. Keeps large output in a file.
class HeldOutput {
 public:
  HeldOutput() = default;
  HeldOutput(const HeldOutput&) = delete;
  ~HeldOutput();
  void add(std::string_view text);
  Status release();  // returns an error if the temporary file cannot be read

 private:
  std::string memory_;
  std::FILE* file_ = nullptr;  // temporary file with the first `in_file_` bytes, before those in memory_
  size_t in_file_ = 0;
};

// The progress line on standard error, which is rewritten in place. Prints nothing if standard error is no terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  void show(std::string_view text);  // prints at most ten times a second
  void clear();

 private:
  bool on_;
  bool shown_ = false;
  double last_ = 0;
};

// Returns the program's progress line, which print() and tell() clear before they print.
Progress& progress_line();

}  // namespace tgc
