// Files as readers want them: plain or gzip, by path or "-" for standard input, whole or line by line. Errors name the
// file.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

class LineReader {
 public:
  // Opens `path`; a path that does not exist, cannot be read or is a directory is an error.
  static Result<std::unique_ptr<LineReader>> open(const std::string& path);
  LineReader(const LineReader&) = delete;
  ~LineReader();

  // The next line without its end, into `out`, whose memory is used again; false at the end of the file. A gzip file
  // that is cut short or damaged is an error, and so is a line, or with rest() a text, of more bytes than
  // Limit::InputBytes.
  Result<bool> next(std::string& out);
  uint32_t line() const { return line_; }  // of the line last read, 1-based
  bool line_ended() const { return line_ended_; }  // by a line end; false: by the end of the file
  // the last error was a gzip file's sudden end; what lay before was given out
  bool cut() const { return cut_; }
  // Everything from here on, appended to `out`.
  Status rest(std::string& out);

 private:
  LineReader(std::string path, void* file);
  Result<bool> fill();
  Diag too_large() const;  // by Limit::InputBytes

  std::string path_;
  void* file_;  // zlib's gzFile
  uint32_t line_ = 0;
  bool line_ended_ = false, cut_ = false;
  std::unique_ptr<char[]> chunk_;
  std::string_view left_;  // of the chunk, what nobody has read yet
};

// The whole file, decompressed when it is gzip.
Result<std::string> read_file(const std::string& path);

// What messages call an input: the path, or "<stdin>".
std::string input_name(const std::string& path);

}  // namespace tgc
