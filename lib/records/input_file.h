// Reads input files, uncompressed or gzip, whole or line by line. "-" is standard input. Errors name the file. A
// rewrites.pkl of tinygrad is read as the recording that rewrite_trace.h makes of it.
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
  // Opens `path`. Returns an error if the file cannot be opened, is a directory, or is a malformed rewrites.pkl.
  static Result<std::unique_ptr<LineReader>> open(const std::string& path);
  LineReader(const LineReader&) = delete;
  ~LineReader();

  // Reads the next line, without its line end, into `out`, reusing its memory. Returns false at the end of the file.
  // Returns an error if reading fails, as for a damaged gzip file, and for a line of more than Limit::InputBytes bytes.
  Result<bool> next_line_text(std::string& out);
  uint32_t line_number() const { return line_number_; }  // 1-based number of the last line read
  bool line_ended() const { return line_ended_; }        // false if the last line read has no line end
  // true if the last error was a truncated gzip file; all text before the truncation was returned
  bool was_cut() const { return was_cut_; }
  // Appends the rest of the file to `out`. Returns an error if reading fails, or if `out` exceeds Limit::InputBytes.
  Status read_rest(std::string& out);

 private:
  LineReader(std::string path, void* file);
  Result<bool> fill_chunk();
  Status convert_rewrites();
  Diag size_error() const;  // the error for text that exceeds Limit::InputBytes

  std::string path_;
  void* file_;  // zlib's gzFile
  uint32_t line_number_ = 0;
  bool line_ended_ = false, was_cut_ = false;
  std::unique_ptr<char[]> chunk_;
  std::unique_ptr<RewriteTrace> rewrite_trace_;  // set if the file is a rewrites.pkl
  std::string last_trace_line_;                  // the line that rewrite_trace_ returned last, to which unread_ refers
  std::string_view unread_;                      // the part of chunk_ or last_trace_line_ that was not returned yet
};

// Returns the whole file, decompressed if it is gzip. Returns an error if the file cannot be read or is too large
// (Limit::InputBytes).
Result<std::string> read_file(const std::string& path);

// Returns the first bytes of a file, at most `bytes`, decompressed if it is gzip; an empty text for standard input
// ("-") and if the file cannot be read.
std::string read_head(const std::string& path, unsigned bytes);

// Returns the name of an input in messages: the path, "<stdin>" for "-", or two quotes for an empty path.
std::string input_name(const std::string& path);

// Functions for recordings, which have one record per line. If a recording was interrupted, its last line may be
// incomplete. Such a line is dropped with a warning, and the command ends with exit code 2.

// Reads the next line of `lines` into `text`. Returns false at the end of the file and before an incomplete last line;
// an incomplete line also stores a warning in `cut`. `name` is the file's name in the warning.
Result<bool> next_whole_line(LineReader& lines, std::string& text, const std::string& name, std::optional<Diag>& cut);

// True if this process read a file that ends within a record.
bool input_was_cut();

}  // namespace tgc
