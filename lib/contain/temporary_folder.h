#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// Returns the value of TMPDIR, else "/tmp". Returns an error if that is not a folder.
Result<std::string> temporary_folder();

// The destructor removes the folder, whose name is tgc-PID-XXXXXX.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Failure if it cannot create the folder
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// Removes the folders that TemporaryFolder made in `temporary_folder` for processes that no longer exist, if they
// belong to this user and have not changed for an hour.
void remove_leftover_folders(const std::string& temporary_folder);

}  // namespace tgc
