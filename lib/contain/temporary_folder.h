// Temporary folders.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// Returns the folder for temporary files: TMPDIR, else /tmp. Returns an error if it is not a folder.
Result<std::string> temporary_folder();

// A temporary folder, removed with its contents by the destructor. Its name contains the process id: tgc-PID-XXXXXX.
// The first one of a process also calls remove_leftover_folders.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Failure if the folder cannot be made
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
void remove_leftover_folders(const std::string& temporary_folder);

}  // namespace tgc
