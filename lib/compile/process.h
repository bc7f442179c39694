// Running another program: input by a string, output and messages by strings, no shell.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct ProcessResult {
  int exit_code = 0;  // 128 + the signal that ended it
  std::string out, err;
};

// Runs argv[0] (looked up in PATH). An error when it cannot be started or runs longer than `seconds`.
Result<ProcessResult> run_process(const std::vector<std::string>& argv, std::string_view input = {}, int seconds = 120);

// Where a program is in PATH or in one of the folders; empty when nowhere.
std::string find_program(std::string_view name, const std::vector<std::string>& folders = {});

// A folder of our own that is removed with all in it. Its name says whose it is: tgc-PID-XXXXXX. The first one of a
// process removes leftovers.
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

// Removes from the folder for temporary files what processes left there that were killed: folders of this user that
// were not changed for an hour, and whose process is gone.
void remove_leftovers(const std::string& temporary_folder);

std::string read_whole_file(const std::string& path);  // throws Failure

}  // namespace tgc
