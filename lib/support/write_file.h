// FileWriter: writes a file that the user named. tgc writes all its output files through it.
//
// - Writes are atomic: the content goes to a temporary file in the same folder (staged_file.h), which commit() renames
//   to the final path. A replaced file keeps its permissions and owner. The new file is synced to disk before it
//   replaces an old one, so that a power failure cannot lose both.
// - Symbolic links are followed, except links that another user put into a world-writable sticky folder such as /tmp.
// - A file with several hard links, or one that cannot be renamed over (a mount) or whose owner cannot be kept, is
//   overwritten in place: once the new content is complete and the disk has room for it, it is copied into the file.
// - A file that is not regular (a device, a FIFO, /dev/stdout, /dev/fd/N) is written directly. "-" is standard output.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/support/staged_file.h"

namespace tgc {

// Writes a file in pieces.
class FileWriter {
 public:
  // Prepares to write `path`. Returns an error if its folder is missing or not writable, if the file is not writable,
  // or if `path` is a folder.
  static Result<FileWriter> create(const std::string& path);
  FileWriter(FileWriter&&) noexcept;
  FileWriter& operator=(FileWriter&&) noexcept;
  ~FileWriter();  // discards what was written to a regular file, unless commit() was called

  Status write(std::string_view bytes);
  int descriptor() const { return through_ >= 0 ? through_ : staged_.descriptor(); }  // for writes by system calls
  Status commit();  // moves the complete file to its path

 private:
  FileWriter() = default;
  int open();
  int copy_over(int old);
  Diag trouble(int error) const;

  std::string shown_, path_;  // the path as the user wrote it; the path with symbolic links resolved
  StagedFile staged_;
  int through_ = -1;          // descriptor of a target that is not a regular file, else -1
  int old_ = -1;              // descriptor of the existing file, -1 if there is none
  bool in_place_ = false;     // commit() copies the content into the existing file instead of renaming over it
};

// Writes `bytes` to `path` with a FileWriter.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace tgc
