// The programs that tgc starts: compilers, tinygrad, the user's commands. No other file starts a program.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// A pipe, whose ends are closed when this process executes another program. The destructor closes the ends that nobody
// took. The constructor throws Failure.
class Pipe {
 public:
  Pipe();
  ~Pipe() { close_read(), close_write(); }
  Pipe(const Pipe&) = delete;
  int read() const { return ends_[0]; }    // -1: closed or taken
  int write() const { return ends_[1]; }
  int take_read() { return take(0); }      // the caller closes it
  int take_write() { return take(1); }
  void close_read() { close(0); }
  void close_write() { close(1); }

 private:
  int take(int end);
  void close(int end);
  int ends_[2] = {-1, -1};
};

// How a program is started.
struct ProcessStart {
  static constexpr int kInherited = -1, kNothing = -2;  // instead of a descriptor; kNothing: /dev/null
  std::vector<std::string> argv;  // argv[0] is looked up in PATH
  std::string folder = {};        // the program's working folder; empty: that of this process
  int in = kInherited, out = kInherited, err = kInherited;  // descriptors of this process that become 0, 1 and 2 there
  int alive = -1;          // becomes 3 there, unless it is -1
  // kill(-pid) then ends the program with the processes that it started, and Ctrl-C does not reach it
  bool own_group = false;
};
// Starts a program, with the usual actions for signals, and returns its process id. The caller waits for its end. Fails
// if it cannot be started.
Result<pid_t> start_process(const ProcessStart& start);

// Returns the argv of a shell that runs `command` in a group of its own (own_group) and ends with this process: a guard
// beside the command waits until the write end of the pipe `alive` is closed, and then kills the group.
std::vector<std::string> guarded_shell(const std::string& command);

// Returns the exit code that a wait status tells, or 128 + the signal that killed the program.
int exit_code_of(int wait_status);

struct ProcessResult {
  int exit_code = 0;  // the exit code, or 128 + the signal that killed the program
  std::string out, err;
};

// Runs argv[0], which is looked up in PATH, with `input` on its standard input. Returns an error if it cannot be
// started or runs longer than `seconds`.
Result<ProcessResult> run_process(const std::vector<std::string>& argv, std::string_view input = {}, int seconds = 120);

struct ShellOptions {
  bool is_quiet = false;              // the program's output goes to /dev/null
  double seconds = 0;                 // time limit; 0: none
  std::function<bool()> stop = {};    // called ten times a second; true ends the command
};
// Runs a command of the user with /bin/sh, without standard input, and returns its exit code. At its end, and with an
// error at the time limit or if `stop` says so, the processes that it started are killed.
Result<int> run_shell(const std::string& command, const ShellOptions& options = {});

// Returns the path of a program in PATH or else in `folders`; empty if it is in none of them.
std::string find_program(std::string_view name, const std::vector<std::string>& folders = {});

Result<std::string> read_whole_file(const std::string& path);

}  // namespace tgc
