#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// TMPDIR, else /tmp. Returns an error if it is not a folder.
Result<std::string> temporary_folder();

// The destructor removes the folder, whose name is tgc-PID-XXXXXX.
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

// Removes folders of processes that no longer exist, if they are of this user and have not changed for an hour.
void remove_leftover_folders(const std::string& temporary_folder);

}  // namespace tgc
