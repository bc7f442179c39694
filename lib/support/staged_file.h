// StagedFile: a file that is written under a temporary name and renamed to its final path when it is complete. The name
// is random and the file is created with O_EXCL. A file that was not renamed is removed by the destructor, or by a
// signal handler for SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGPIPE, SIGTERM, SIGXCPU and SIGXFSZ (installed only for
// signals with the default action). SIGKILL leaves a file ".tgc-*.tmp" behind.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

namespace tgc {

// A file that is being written. create, write, sync and move_to return 0, or an errno on failure.
class StagedFile {
 public:
  StagedFile() = default;
  StagedFile(StagedFile&& other) noexcept { swap(other); }
  StagedFile& operator=(StagedFile&& other) noexcept { return swap(other), *this; }
  ~StagedFile();

  int create(const std::string& folder, mode_t mode);  // applies the umask; an empty folder is the working directory
  int write(std::string_view bytes);                   // writes all bytes
  int sync();                                          // fsync; succeeds on file systems that do not support it
  int move_to(const std::string& path);                // replaces an existing file, but not a folder
  int descriptor() const { return fd_; }

 private:
  void swap(StagedFile& other) noexcept;

  int fd_ = -1;
  int slot_ = -1;  // index in the table of files that the signal handler removes; -1: none
  std::string path_;
};

// Writes all of `bytes` to a descriptor. Returns 0 or an errno.
int write_all(int fd, std::string_view bytes);

// Removes all staged files of this process. Safe in a signal handler.
void remove_staged_files() noexcept;

}  // namespace tgc
