#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// The ends are closed when this process executes another program. The destructor closes the ends that were not taken.
// The constructor throws Failure if the system cannot make a pipe.
class Pipe {
 public:
  Pipe();
  ~Pipe() { close_read_end(), close_write_end(); }
  Pipe(const Pipe&) = delete;
  int read_end() const { return ends_[0]; }    // returns -1 if this end was closed or taken
  int write_end() const { return ends_[1]; }
  int take_read_end() { return take_pipe_end(0); }  // the caller must close it
  int take_write_end() { return take_pipe_end(1); }
  void close_read_end() { close_pipe_end(0); }
  void close_write_end() { close_pipe_end(1); }

 private:
  int take_pipe_end(int end);
  void close_pipe_end(int end);
  int ends_[2] = {-1, -1};
};

struct ProcessOptions {
  // Values of `in`, `out` and `err`: the program inherits this process's descriptor, or gets /dev/null.
  static constexpr int kInheritDescriptor = -1, kNullDescriptor = -2;
  std::vector<std::string> argv;  // argv[0] is looked up in PATH
  std::string working_folder = {};        // empty: the working folder of this process
  // Descriptors of this process that become the program's descriptors 0, 1 and 2.
  int in = kInheritDescriptor, out = kInheritDescriptor, err = kInheritDescriptor;
  int liveness_descriptor = -1;       // descriptor that becomes the program's descriptor 3; -1: none
  // kill(-pid) ends the program and the processes that it started. Ctrl-C in the terminal does not reach this group.
  bool has_own_process_group = false;
};
// In the program, SIGPIPE and SIGXFSZ have their default actions. The caller must wait for the process. Fails if the
// program cannot be started.
Result<pid_t> start_process(const ProcessOptions& start);

// Returns the argv of a shell that runs `command`. Start it with has_own_process_group, and with the read end of a pipe
// as `liveness_descriptor`. When the pipe's write end is closed, for example because this process ended, a guard beside
// the command kills the process group.
std::vector<std::string> guarded_shell_argv(const std::string& command);

// Returns the exit code, or 128 + the number of the signal that killed the program.
int exit_code_of_status(int wait_status);

struct ProcessResult {
  int exit_code = 0;
  std::string out, err;
};

// argv[0] is looked up in PATH; `input` is the standard input. Fails if the program cannot be started, runs longer than
// `seconds`, or writes more than 1 GiB.
Result<ProcessResult> run_process(const std::vector<std::string>& argv, std::string_view input = {}, int seconds = 120);

struct ShellOptions {
  bool is_quiet = false;
  double limit_seconds = 0;                // 0: no limit
  std::function<bool()> should_stop = {};  // called repeatedly; ends the command when it returns true
};
// Runs a command with /bin/sh, without standard input, and returns exit_code_of_status(). Kills the processes that the
// command leaves. Fails if the shell cannot be started, at the time limit, or if `should_stop` returns true.
Result<int> run_shell(const std::string& command, const ShellOptions& options = {});

// Returns the path of the program `name`, which it searches in PATH, then in `folders`. Returns "" if there is none.
std::string find_program(std::string_view name, const std::vector<std::string>& folders = {});

Result<std::string> read_whole_file(const std::string& path);

}  // namespace tgc
