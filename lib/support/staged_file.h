// A file under a temporary name that takes its place when it is whole. The name cannot be guessed, the file is made by
// O_EXCL, and it does not outlive the process: what is not moved is removed by the destructor or, when a signal ends
// the process, by its handler (SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGPIPE, SIGTERM, SIGXCPU, SIGXFSZ, each where nobody
// else handles or ignores it). SIGKILL alone leaves a file ".tgc-*.tmp".
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>

namespace tgc {

// Every function answers 0 or an errno.
class StagedFile {
 public:
  StagedFile() = default;
  StagedFile(StagedFile&& other) noexcept { swap(other); }
  StagedFile& operator=(StagedFile&& other) noexcept { return swap(other), *this; }
  ~StagedFile();

  int create(const std::string& folder, mode_t mode);  // with those rights less the umask; empty folder: here
  int write(std::string_view bytes);                   // all of them
  int sync();                                          // to the disk; file systems that cannot do that are excused
  int move_to(const std::string& path);                // replaces what is there, but no folder
  int descriptor() const { return fd_; }

 private:
  void swap(StagedFile& other) noexcept;

  int fd_ = -1;
  int slot_ = -1;  // in the table of those that a signal removes
  std::string path_;
};

// Writes all of `bytes` to a descriptor.
int write_all(int fd, std::string_view bytes);

// Removes every staged file of this process, as the handlers do. May be called in a signal handler.
void remove_staged_files() noexcept;

}  // namespace tgc
