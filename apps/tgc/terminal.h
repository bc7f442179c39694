#pragma once
#include <cstdio>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

enum class ColorChoice { Auto, Always, Never };
ColorChoice& color_choice();   // the value of --color
std::string& other_options();  // options for the command that repeats a failure (CompileOverrides::other_options)
// Returns true if output to `fd` may have colours: if --color says so or, by default, on a terminal, unless NO_COLOR is
// set and not empty.
bool uses_color(int fd);

// Returns `text` made safe to print: with visible control characters and without workflow commands of CI jobs.
std::string printable_text(std::string_view text);
// Prints `text` to standard error, as printable_text() returns it.
void print_message(std::string_view text);
// Prints "tgc: MESSAGE" to standard error and returns exit code 2.
int report_error(const Diag& diag);
// Prints "tgc: warning: MESSAGE" to standard error.
void show_warning(Diag diag);

// Prints `text`, data such as a graph, to standard output: to a terminal as printable_text() returns it; to a pipe
// without control characters and, in a CI job, without workflow commands; to a file unchanged. Ends the program with
// exit code 2 if printing fails.
void print_output(std::string_view text);
// Prints a report for people to standard output, as printable_text() returns it. Ends the program with exit code 2 if
// printing fails.
void print_report(std::string_view text);
// Prints workflow commands of a CI job to standard output or standard error.
void print_workflow_commands(std::string_view text, bool is_for_stderr);
// Flushes standard output. A failure ends the program as in print_output().
void flush_output();
// Flushes and closes standard output and returns `exit_code`. A failure ends the program as in print_output().
int finish_output(int exit_code);

// Collects output, which release() prints; without a call of release(), it is discarded. Keeps large output in a file.
class HeldOutput {
 public:
  HeldOutput() = default;
  HeldOutput(const HeldOutput&) = delete;
  ~HeldOutput();
  void hold_text(std::string_view text);
  Status release();  // fails if the temporary file cannot be flushed or read

 private:
  std::string text_in_memory_;
  std::FILE* file_ = nullptr;  // temporary file with the first `bytes_in_file_` bytes, before those in text_in_memory_
  size_t bytes_in_file_ = 0;
};

// The progress line on standard error, which is rewritten in place. Prints nothing if standard error is no terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  void show(std::string_view text);  // prints at most ten times a second
  void clear();

 private:
  bool is_enabled_;
  bool is_shown_ = false;
  double last_shown_seconds_ = 0;
};

// Returns the program's progress line. The print functions above clear it first.
ProgressLine& progress_line();

}  // namespace tgc
