// Output of commands: standard output, messages on standard error, colours and progress.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

enum class ColorChoice { Auto, Always, Never };
ColorChoice& color_choice();  // set by --color
// Returns true if output to this descriptor may have colours: --color, else NO_COLOR, else whether it is a terminal.
bool use_color(int fd);

// Prints `text` to standard error, with control characters made visible (lib/support/visible.h).
void tell(std::string_view text);
// Prints "tgc: MESSAGE" to standard error and returns exit code 2.
int trouble(const Diag& diag);
// Prints "tgc: warning: MESSAGE" to standard error.
void warn(Diag diag);

// Prints `text` to standard output; on a terminal with control characters made visible. If that fails, ends the program
// with exit code 2 and, unless the reader has closed the pipe, a message.
void print(std::string_view text);
// Prints a report for people: control characters are always made visible.
void print_report(std::string_view text);
// Flushes standard output; ends the program in the same way if that fails.
void flush_output();
// Flushes and closes standard output and returns `exit_code`; ends the program in the same way if that fails.
int finish_output(int exit_code);

// Output that is printed as a whole by release(), or not at all. Large output is kept in a temporary file.
class HeldOutput {
 public:
  HeldOutput() = default;
  HeldOutput(const HeldOutput&) = delete;
  ~HeldOutput();
  void add(std::string_view text);
  Status release();  // error: the temporary file cannot be read

 private:
  std::string memory_;
  std::FILE* file_ = nullptr;  // the `in_file_` bytes before memory_
  size_t in_file_ = 0;
};

// A line of progress on standard error, rewritten in place. Prints nothing if that is not a terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  void show(std::string_view text);  // at most ten times a second
  void clear();

 private:
  bool on_;
  bool shown_ = false;
  double last_ = 0;
};

// The one progress line; print() and tell() clear it first.
Progress& progress_line();

}  // namespace tgc
