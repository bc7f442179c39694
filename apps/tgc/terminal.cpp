#include "apps/tgc/terminal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "lib/support/pytext.h"
#include "lib/support/visible.h"
#include "lib/support/write_file.h"

namespace tgc {

std::string& other_options() {
  static std::string options;
  return options;
}

ColorChoice& color_choice() {
  static ColorChoice choice = ColorChoice::Auto;
  return choice;
}

bool uses_color(int fd) {
  if (color_choice() != ColorChoice::Auto) return color_choice() == ColorChoice::Always;
  const char* no_color = std::getenv("NO_COLOR");
  return (!no_color || !*no_color) && isatty(fd);
}

int report_error(const Diag& diag) {
  std::string text = "tgc: " + diag.text() + "\n";
  print_message(uses_color(2) ? text : ansistrip(text));  // remove the colours of tinygrad's kernel names
  return 2;
}

std::string printable_text(std::string_view text) {
  return escape_workflow_commands(visible_colored_text(text));
}

void print_message(std::string_view text) {
  progress_line().clear();
  const std::string out = printable_text(text);
  std::fwrite(out.data(), 1, out.size(), stderr);
}

void show_warning(Diag diag) {
  diag.message = "warning: " + diag.message;
  report_error(diag);
}

namespace {

// Prints a message, unless the reader has closed the pipe, and ends the program with exit code 2.
[[noreturn]] void exit_on_output_failure(int error) {
  if (error != EPIPE)
    report_error({.message = std::string("cannot write: ") + std::strerror(error), .file = "<stdout>"});
  remove_staged_files();
  std::_Exit(2);
}

void print_unchanged(std::string_view text) {
  progress_line().clear();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) exit_on_output_failure(errno);
}

enum class OutputReader { Person, CiJob, Program, File };

OutputReader find_output_reader() {
  if (isatty(STDOUT_FILENO)) return OutputReader::Person;
  struct stat status;
  if (::fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode)) return OutputReader::File;
  const bool is_ci = std::ranges::any_of(std::array{"CI", "GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION"},
                                         [](const char* name) { return std::getenv(name) != nullptr; });
  return is_ci ? OutputReader::CiJob : OutputReader::Program;
}

}  // namespace

void print_output(std::string_view text) {
  static const OutputReader reader = find_output_reader();
  if (reader == OutputReader::File) return print_unchanged(text);
  if (reader == OutputReader::Person) return print_unchanged(printable_text(text));
  const std::string data = without_control_chars(text);
  print_unchanged(reader == OutputReader::CiJob ? escape_workflow_commands(data) : data);
}

void print_workflow_commands(std::string_view text, bool is_for_stderr) {
  if (!is_for_stderr) return print_unchanged(text);
  progress_line().clear();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) exit_on_output_failure(errno);
}

void print_report(std::string_view text) { print_unchanged(printable_text(text)); }

int finish_output(int exit_code) {
  flush_output();
  if (std::fclose(stdout) != 0) exit_on_output_failure(errno);
  return exit_code;
}

ProgressLine& progress_line() {
  static ProgressLine line;
  return line;
}

ProgressLine::ProgressLine() : is_enabled_(isatty(STDERR_FILENO)) {}
ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::show(std::string_view text) {
  if (!is_enabled_) return;
  double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (now - last_shown_seconds_ < 0.1) return;
  last_shown_seconds_ = now;
  is_shown_ = true;
  std::string line = printable_text(text);
  std::ranges::replace(line, '\n', ' ');
  std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
  std::fflush(stderr);
}

void ProgressLine::clear() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
  is_shown_ = false;
}

}  // namespace tgc
