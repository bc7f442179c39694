#include "lib/records/input_file.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lib/records/rewrite_trace.h"
#include "lib/support/limits.h"
#include "lib/support/open_input.h"
#include "lib/text/json_scan.h"

namespace tgc {

namespace {

constexpr size_t kChunk = 1 << 18;

Diag diag_of_errno(const std::string& path, const std::string& what, int error) {
  return {.message = what + (error ? std::string(": ") + std::strerror(error) : ""), .file = input_name(path)};
}

}  // namespace

// Leaves text_chunk_ uninitialized, so that reading a small file touches only the first pages of this buffer.
LineReader::LineReader(std::string path, void* file)
    : file_path_(std::move(path)), gzip_file_(file), text_chunk_(std::make_unique_for_overwrite<char[]>(kChunk)) {}

std::string input_name(const std::string& path) { return path == "-" ? "<stdin>" : path.empty() ? "''" : path; }

Result<std::unique_ptr<LineReader>> LineReader::open(const std::string& path) {
  int fd = path == "-" ? ::dup(STDIN_FILENO) : open_input_file(path);
  if (fd < 0) return diag_of_errno(path, "cannot open", errno);
  struct stat info;
  if (::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    ::close(fd);
    return Diag{.message = "is a directory", .file = input_name(path), .expected = "a file"};
  }
  gzFile file = gzdopen(fd, "rb");
  if (!file) {
    ::close(fd);
    return Diag{"out of memory"};
  }
  gzbuffer(file, kChunk);
  std::unique_ptr<LineReader> out(new LineReader(path, file));
  if (auto status = out->convert_rewrites(); !status) return status.diag();
  return out;
}

// If the file is a rewrites.pkl, reads the whole file. Then fill_chunk() provides the lines of its recording.
Status LineReader::convert_rewrites() {
  // ignores an error, which next_line_text() reports
  if (auto more = fill_chunk(); !more || !is_start_of_rewrites(unread_text_)) return Unit{};
  std::string pickle;
  if (auto status = read_rest_of_text(pickle); !status) return status;
  auto made = RewriteTrace::read(std::move(pickle), input_name(file_path_));
  if (!made) return made.diag();
  rewrite_trace_ = std::move(*made);
  return Unit{};
}

LineReader::~LineReader() { gzclose_r(static_cast<gzFile>(gzip_file_)); }

// Reads the next part of the file into unread_text_, which must be empty. Returns false at the end of the file.
Result<bool> LineReader::fill_chunk() {
  if (rewrite_trace_) {
    auto line = rewrite_trace_->next_line();
    if (!line) return line.diag();
    unread_text_ = last_trace_line_ = std::move(*line);
    return !last_trace_line_.empty();
  }
  auto file = static_cast<gzFile>(gzip_file_);
  errno = 0;
  int n = gzread(file, text_chunk_.get(), unsigned(kChunk));
  unread_text_ = {text_chunk_.get(), size_t(std::max(n, 0))};
  if (n > 0) return true;
  int error = Z_OK;
  const char* text = gzerror(file, &error);
  if (error == Z_ERRNO) return diag_of_errno(file_path_, "cannot read", errno);
  if (error != Z_OK && error != Z_STREAM_END) {
    was_truncated_ = error == Z_BUF_ERROR;
    return Diag{
        .message = was_truncated_ ? "the gzip data is cut short" : "the gzip data is damaged: " + std::string(text),
        .file = input_name(file_path_),
        .expected = "a complete gzip file"};
  }
  return false;
}

Diag LineReader::make_size_error() const {
  Diag diag = limit_error(Limit::InputBytes);
  diag.file = input_name(file_path_);
  return diag;
}

Result<bool> LineReader::next_line_text(std::string& out) {
  out.clear();
  line_number_++;
  has_line_end_ = false;
  for (;;) {
    if (!unread_text_.empty()) {
      size_t end = unread_text_.find('\n');
      std::string_view piece = unread_text_.substr(0, end);
      if (out.size() + piece.size() > size_t(limit_value(Limit::InputBytes))) return make_size_error();
      out.append(piece);
      has_line_end_ = end != std::string_view::npos;
      unread_text_.remove_prefix(piece.size() + has_line_end_);
      if (has_line_end_) return true;
    }
    auto more = fill_chunk();
    if (!more) return more.diag();
    if (!*more) return !out.empty();
  }
}

Status LineReader::read_rest_of_text(std::string& out) {
  for (;;) {
    out.append(std::exchange(unread_text_, {}));
    if (out.size() > size_t(limit_value(Limit::InputBytes))) return make_size_error();
    auto more = fill_chunk();
    if (!more) return more.diag();
    if (!*more) return Unit{};
  }
}

std::string read_first_bytes(const std::string& path, unsigned bytes) {
  int fd = path == "-" ? -1 : open_input_file(path);
  gzFile file = fd < 0 ? nullptr : gzdopen(fd, "rb");
  if (!file) return "";
  std::string out(bytes, '\0');
  out.resize(size_t(std::max(gzread(file, out.data(), bytes), 0)));
  gzclose_r(file);
  return out;
}

Result<std::string> read_file(const std::string& path) {
  auto reader = LineReader::open(path);
  if (!reader) return reader.diag();
  std::string out;
  if (auto status = (*reader)->read_rest_of_text(out); !status) return status.diag();
  return out;
}

namespace {

std::atomic<bool> was_truncated{false};

bool is_whole_record(const std::string& text) {
  if (!text.starts_with('{')) return true;  // not a record, which the record parser reports
  return bool(catch_failures([&] {
    JsonScanner in(text, "", 1);
    in.skip_any();
    return true;
  }));
}

}  // namespace

Result<bool> next_whole_line(LineReader& lines, std::string& text, const std::string& name, std::optional<Diag>& cut) {
  auto read = lines.next_line_text(text);
  if (!read && !lines.was_truncated()) return read;
  if (read && (!*read || lines.has_line_end() || is_whole_record(text))) return read;
  was_truncated = true;
  cut = Diag{.message = "the file is cut short: the record of line " + std::to_string(lines.line_number()) +
                        " is lost, those before it are whole",
             .file = name};
  return false;
}

bool is_input_truncated() { return was_truncated; }

}  // namespace tgc
