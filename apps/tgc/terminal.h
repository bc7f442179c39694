// What the commands share in talking to people: colour, progress, trouble.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace CLI {
class App;
}

namespace tgc {

enum class ColorChoice { Auto, Always, Never };
ColorChoice& color_choice();              // set by --color
// for output to that descriptor: --color, else NO_COLOR, else whether it is a terminal
bool use_color(int fd);
void add_color_option(CLI::App& app);

// `text` to standard error, control characters in it made visible (lib/support/visible.h).
void tell(std::string_view text);
// Prints "tgc: MESSAGE" to standard error and returns exit code 2.
int trouble(const Diag& diag);
// The same without ending anything: "tgc: warning: MESSAGE".
void warn(Diag diag);

// Writes all of `text` to standard output: as it is, but on a terminal with control characters made visible. When that
// fails the program ends, with exit code 2 and a message; without one where the reader has gone.
void print(std::string_view text);
// The same of what is for people: names of an input in it move no cursor.
void print_report(std::string_view text);
// All of it is out, or the program ends so.
void flush_output();
// The exit code of a command that has printed everything and prints nothing more: `exit_code`, or the program ends so.
int finish_output(int exit_code);

// Output that appears as a whole or, when release() is never called, not at all. Much of it lies in a temporary file
// meanwhile.
class HeldOutput {
 public:
  HeldOutput() = default;
  HeldOutput(const HeldOutput&) = delete;
  ~HeldOutput();
  void add(std::string_view text);
  Status release();  // to standard output; an error: the temporary file is lost

 private:
  std::string memory_;
  std::FILE* file_ = nullptr;  // what came before memory_, `in_file_` bytes
  size_t in_file_ = 0;
};

// Lays out rows in columns, two spaces apart. A row of one cell is a heading.
std::string table(const std::vector<std::vector<std::string>>& rows);

// A line of progress on standard error, rewritten in place; nothing when that is no terminal.
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

// The one line of the session's events; print() and trouble() clear it first.
Progress& progress_line();

}  // namespace tgc
