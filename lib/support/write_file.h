// The one way in which tgc writes a file that somebody named.
//
// - A file appears whole, or what was there before stays: it is written under a temporary name beside its place
//   (staged_file.h) and renamed. What it replaces keeps its rights and its owner. When an old file is replaced, the new
//   one is on the disk first, so that not even a power failure loses both.
// - Symbolic links are followed, but not those that a stranger put into a folder where everybody may write.
// - A file with several hard links, or one whose owner cannot be kept or that cannot be renamed over (a mount), keeps
//   its identity: its new content is copied into it, once that is whole and the disk has room for it.
// - What is no regular file (a device, a FIFO, /dev/stdout, /dev/fd/N) is written to as it is. "-" is standard output.
#pragma once
#include <string>
#include <string_view>

#include "lib/support/result.h"
#include "lib/support/staged_file.h"

namespace tgc {

// A file that comes in pieces.
class FileWriter {
 public:
  // An error: a folder that is missing or may not be written to, a file that may not be, a folder of that name.
  static Result<FileWriter> create(const std::string& path);
  FileWriter(FileWriter&&) noexcept;
  FileWriter& operator=(FileWriter&&) noexcept;
  ~FileWriter();  // without commit(): there is no new file

  Status write(std::string_view bytes);
  int descriptor() const { return through_ >= 0 ? through_ : staged_.descriptor(); }  // to write by other means
  Status commit();  // it is whole: it takes its place

 private:
  FileWriter() = default;
  int open();
  int copy_over(int old);
  Diag trouble(int error) const;

  std::string shown_, path_;  // as it was named, and without symbolic links
  StagedFile staged_;
  int through_ = -1;          // what is no regular file
  int old_ = -1;              // the file that is there
  bool in_place_ = false;     // the old file stays, and takes the new content
};

// Writes `bytes` to `path`, as FileWriter does.
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace tgc
