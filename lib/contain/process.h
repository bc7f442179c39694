// Starts programs: compilers, tinygrad, the user's commands. No other file of lib/, except tests, starts a program; but
// emulate_program() (lib/execute) replaces tgc's own process by one.
#pragma once
#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

// A pipe, whose ends are closed when this process executes another program. The destructor closes the ends that were
// not taken by take_read_end() or take_write_end(). The constructor throws Failure if the system cannot make a pipe.
class Pipe {
 public:
  Pipe();
  ~Pipe() { close_read_end(), close_write_end(); }
  Pipe(const Pipe&) = delete;
  int read_end() const { return ends_[0]; }    // the descriptor, or -1 if it was closed or taken
  int write_end() const { return ends_[1]; }
  int take_read_end() { return take_end(0); }      // the caller must close the returned descriptor
  int take_write_end() { return take_end(1); }
  void close_read_end() { close_end(0); }
  void close_write_end() { close_end(1); }

 private:
  int take_end(int end);
  void close_end(int end);
  int ends_[2] = {-1, -1};
};

// How a program is started.
struct ProcessStart {
  // values of in, out and err: this process's own descriptor;
  static constexpr int kInheritDescriptor = -1, kNothing = -2;
                                                        // /dev/null
  std::vector<std::string> argv;  // argv[0] is looked up in PATH
  std::string working_folder = {};        // the program's working folder; empty: this process's
  // descriptors of this process that become the program's 0,
  int in = kInheritDescriptor, out = kInheritDescriptor, err = kInheritDescriptor;
                                                            // 1 and 2
  int alive_descriptor = -1;          // descriptor that becomes the program's descriptor 3; -1: none
  // Makes a process group, so that kill(-pid) ends the program and the processes that it started. Ctrl-C in the
  // terminal does not reach this group.
  bool has_own_group = false;
};
// Starts a program, with the default actions for SIGPIPE and SIGXFSZ, and returns its process id. The caller waits for
// its end. Fails if the program cannot be started.
Result<pid_t> start_process(const ProcessStart& start);

// Returns the argv of a shell that runs `command` and ends with this process. Start it with has_own_group, and with
// `alive_descriptor` set to the read end of a pipe: a guard beside the command waits until the pipe's write end is
// closed, for example because this process ended, and then kills the group.
std::vector<std::string> guarded_shell_argv(const std::string& command);

// Converts a wait status to the program's exit code, or to 128 + the number of the signal that killed the program.
int exit_code_of_status(int wait_status);

struct ProcessResult {
  int exit_code = 0;  // the exit code, or 128 + the signal that killed the program
  std::string out, err;
};

// Runs argv[0], which is looked up in PATH, with `input` on its standard input. Returns an error if the program cannot
// be started, runs longer than `seconds`, or writes more than 1 GiB.
Result<ProcessResult> run_process(const std::vector<std::string>& argv, std::string_view input = {}, int seconds = 120);

struct ShellOptions {
  bool is_quiet = false;                   // the program's output goes to /dev/null
  double limit_seconds = 0;                // time limit; 0: no limit
  std::function<bool()> should_stop = {};  // called every 100 ms or more often; ends the command if it returns true
};
// Runs a command of the user with /bin/sh, without standard input, and returns its exit code (exit_code_of_status).
// Kills the processes that are left when the command ends. Fails if the shell cannot be started, at the time limit, or
// if `should_stop` returns true.
Result<int> run_shell(const std::string& command, const ShellOptions& options = {});

// Returns the path of a program that is in PATH or in one of `folders`; empty if no folder has it.
std::string find_program(std::string_view name, const std::vector<std::string>& folders = {});

Result<std::string> read_whole_file(const std::string& path);

}  // namespace tgc
