#include "lib/text/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "lib/support/limits.h"

namespace tgc {
namespace {

constexpr size_t kChunk = 1 << 18;

Diag trouble(const std::string& path, const std::string& what, int error) {
  return {.message = what + (error ? std::string(": ") + std::strerror(error) : ""), .file = input_name(path)};
}

}  // namespace

std::string input_name(const std::string& path) { return path == "-" ? "<stdin>" : path; }

Result<std::unique_ptr<LineReader>> LineReader::open(const std::string& path) {
  int fd = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return trouble(path, "cannot open", errno);
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
  return std::unique_ptr<LineReader>(new LineReader(path, file));
}

LineReader::~LineReader() { gzclose_r(static_cast<gzFile>(file_)); }

// Up to `size` bytes; 0 at the end.
Result<size_t> LineReader::fill(char* into, size_t size) {
  auto file = static_cast<gzFile>(file_);
  errno = 0;
  int n = gzread(file, into, unsigned(size));
  if (n > 0) return size_t(n);
  int error = Z_OK;
  const char* text = gzerror(file, &error);
  if (error == Z_ERRNO) return trouble(path_, "cannot read", errno);
  if (error != Z_OK && error != Z_STREAM_END) {
    cut_ = error == Z_BUF_ERROR;
    return Diag{.message = cut_ ? "the gzip data is cut short" : "the gzip data is damaged: " + std::string(text),
                .file = input_name(path_), .expected = "a complete gzip file"};
  }
  return size_t(0);
}

Diag LineReader::too_large() const {
  Diag diag = over_limit(Limit::InputBytes);
  diag.file = input_name(path_);
  return diag;
}

Result<bool> LineReader::next(std::string& out) {
  out.clear();
  line_++;
  line_ended_ = false;
  for (;;) {
    if (at_ < buffer_.size()) {
      const char* begin = buffer_.data() + at_;
      size_t left = buffer_.size() - at_;
      const auto* end = static_cast<const char*>(std::memchr(begin, '\n', left));
      size_t n = end ? size_t(end - begin) : left;
      if (out.size() + n > size_t(limit(Limit::InputBytes))) return too_large();
      out.append(begin, n);
      at_ += n + (end ? 1 : 0);
      if (end) return line_ended_ = true;
    }
    buffer_.resize(kChunk);
    auto n = fill(buffer_.data(), kChunk);
    buffer_.resize(n ? *n : 0);
    at_ = 0;
    if (!n) return n.diag();
    if (*n == 0) return !out.empty();
  }
}

Status LineReader::rest(std::string& out) {
  out.append(buffer_, at_);
  at_ = buffer_.size();
  for (;;) {
    size_t before = out.size();
    if (before > size_t(limit(Limit::InputBytes))) return too_large();
    out.resize(before + kChunk);
    auto n = fill(out.data() + before, kChunk);
    out.resize(before + (n ? *n : 0));
    if (!n) return n.diag();
    if (*n == 0) return Unit{};
  }
}

Result<std::string> read_file(const std::string& path) {
  auto reader = LineReader::open(path);
  if (!reader) return reader.diag();
  std::string out;
  if (auto status = (*reader)->rest(out); !status) return status.diag();
  return out;
}

}  // namespace tgc
