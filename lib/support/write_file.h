#pragma once
#include <sys/types.h>
#include <set>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

// StagedFile: a file that is written under a random temporary name and renamed to its final path when it is complete. A
// file that was not renamed is removed by the destructor, or, for a limited number of files at a time, by a signal
// handler (installed for signals with the default action). SIGKILL leaves a file ".tgc-*.tmp" behind. create(),
// write(), sync_file() and move_to() return 0, or an errno on failure.
class StagedFile {
 public:
  StagedFile() = default;
  StagedFile(StagedFile&& other) noexcept { swap(other); }
  StagedFile& operator=(StagedFile&& other) noexcept { return swap(other), *this; }
  ~StagedFile();

  int create(const std::string& folder, mode_t mode);  // applies the umask; an empty folder is the working directory
  int write(std::string_view bytes);
  int sync_file();                                     // fsync; succeeds on file systems that do not support it
  int move_to(const std::string& path);                // replaces an existing file, but not a folder
  int descriptor() const { return file_descriptor_; }

 private:
  void swap(StagedFile& other) noexcept;

  int file_descriptor_ = -1;
  // index in the table of files that the signal handler removes; -1: not in the table
  int table_index_ = -1;
  std::string path_;
};

int write_all(int fd, std::string_view bytes);

// Removes the staged files of this process. Safe to call in a signal handler.
void remove_staged_files() noexcept;

// FileWriter: writes a file that the user named.
//
// - Writes of a regular file are atomic, except of the files below: the content is written to a temporary file in
//   the same folder, which commit_file() renames to the final path. A replaced file keeps its permissions and owner.
//   The new file is synced to disk before it replaces an old one, so that a power failure cannot lose both.
// - Symbolic links are followed, except those in a world-writable sticky folder such as /tmp that belong neither to the
//   user nor to the folder's owner.
// - A file is overwritten in place if it has several hard links, cannot be renamed over (a mount), or cannot keep its
//   owner. The new content is copied into the file once it is complete and the disk has room for it.
// - A file that is not regular (a device, a FIFO, /dev/stdout, /dev/fd/N) is written directly. "-" is standard output.
class FileWriter {
 public:
  // Prepares to write `path`. Fails if `path` cannot be written.
  static Result<FileWriter> create(const std::string& path);
  FileWriter(FileWriter&&) noexcept;
  FileWriter& operator=(FileWriter&&) noexcept;
  ~FileWriter();  // removes the temporary file, unless commit_file() renamed it

  Status write(std::string_view bytes);
  int descriptor() const { return direct_descriptor_ >= 0 ? direct_descriptor_ : staged_file_.descriptor(); }
  Status commit_file();

 private:
  FileWriter() = default;
  int open();
  int copy_over_file(int old);
  Diag diag_of_errno(int error) const;

  std::string user_path_, path_;   // the path as the user wrote it, and with symbolic links resolved
  StagedFile staged_file_;
  int direct_descriptor_ = -1;
  int old_descriptor_ = -1;
  bool should_copy_in_place_ = false;
};

Status write_file(const std::string& path, std::string_view bytes);

// Returns a safe file name for the untrusted `name`, such as a record id or a kernel name. The result is 1 to 170 bytes
// of valid UTF-8 without path separators, common blanks or hidden characters, and without a leading "." or "-". A name
// that already fits is returned unchanged. Digits of the name's hash are appended to a changed one, so that distinct
// names rarely become equal.
std::string file_name_of(std::string_view name);

class UsedPaths {
 public:
  bool reserve_path(const std::string& path) { return reserved_paths_.insert(path).second; }
  // Takes and returns the first path of `stem`, "STEM~2", "STEM~3", ... that is not taken yet.
  std::string make_distinct_path(const std::string& stem);

 private:
  std::set<std::string> reserved_paths_;
};

}  // namespace tgc
