// Runs external programs: input, output and error messages are strings; no shell is involved.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct ProcessResult {
  int exit_code = 0;  // the exit code, or 128 + the signal that killed the program
  std::string out, err;
};

// Runs argv[0], which is looked up in PATH, with `input` on its standard input. Returns an error if it cannot be
// started or runs longer than `seconds`.
Result<ProcessResult> run_process(const std::vector<std::string>& argv, std::string_view input = {}, int seconds = 120);

// Returns the path of a program in PATH or else in `folders`; empty if it is in none of them.
std::string find_program(std::string_view name, const std::vector<std::string>& folders = {});

// A temporary folder, removed with its contents by the destructor. Its name holds the process id: tgc-PID-XXXXXX. The
// first one of a process also calls remove_leftovers.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Failure
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// Removes folders that killed processes left in `temporary_folder`: those of this user that have not changed for an
// hour and whose process no longer exists.
void remove_leftovers(const std::string& temporary_folder);

std::string read_whole_file(const std::string& path);  // throws Failure

}  // namespace tgc
