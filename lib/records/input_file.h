// Reads input files, uncompressed or gzip; "-" is standard input. Errors name the file. LineReader and read_file() read
// a rewrites.pkl as the recording that rewrite_trace.h makes of it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

class RewriteTrace;

class LineReader {
 public:
  // Opens a file. Fails if it cannot be opened, is a directory, or is a rewrites.pkl that cannot be read.
  static Result<std::unique_ptr<LineReader>> open(const std::string& path);
  LineReader(const LineReader&) = delete;
  ~LineReader();

  // Reads the next line, without its line end, into `out`, reusing its memory. Returns false at the end of the file.
  // Fails if reading fails, and for a line of more than Limit::InputBytes bytes.
  Result<bool> next_line_text(std::string& out);
  uint32_t line_number() const { return line_number_; }
  bool has_line_end() const { return has_line_end_; }  // false if the last line read has no line end
  // true if the last error was a truncated gzip file
  bool was_truncated() const { return was_truncated_; }
  // Appends the rest of the file to `out`. Fails if reading fails, or if `out` exceeds Limit::InputBytes.
  Status read_rest_of_text(std::string& out);

 private:
  LineReader(std::string path, void* file);
  Result<bool> fill_chunk();
  Status convert_rewrites();
  Diag make_size_error() const;

  std::string file_path_;
  void* gzip_file_;  // gzFile of zlib
  uint32_t line_number_ = 0;
  bool has_line_end_ = false, was_truncated_ = false;
  std::unique_ptr<char[]> text_chunk_;
  std::unique_ptr<RewriteTrace> rewrite_trace_;
  std::string last_trace_line_;  // unread_text_ may refer to it
  std::string_view unread_text_;
};

// Returns the whole file, decompressed if it is gzip. Fails if the file cannot be read or is too large
// (Limit::InputBytes).
Result<std::string> read_file(const std::string& path);

// Returns the first bytes of a file, at most `bytes`, decompressed if it is gzip; "" for standard input ("-") and if
// the file cannot be read.
std::string read_first_bytes(const std::string& path, unsigned bytes);

// Returns a name for messages: the path, "<stdin>" for "-", or two quotes for an empty path.
std::string input_name(const std::string& path);

// A recording has one record per line. If its writer was interrupted, the last line may be incomplete. The line is then
// dropped with a warning, and the command ends with exit code 2.

// Reads the next line into `text`. Returns false at the end of the file and before an incomplete last line, which also
// stores a warning in `cut`. Fails if reading fails. `name` is the file's name in the warning.
Result<bool> next_whole_line(LineReader& lines, std::string& text, const std::string& name, std::optional<Diag>& cut);

// True if this process read a file that ends within a record.
bool is_input_truncated();

}  // namespace tgc
