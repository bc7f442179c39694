#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "apps/tgc/terminal.h"

namespace tgc {

HeldOutput::~HeldOutput() {
  if (file_) std::fclose(file_);
}

void HeldOutput::hold_text(std::string_view text) {
  constexpr size_t kMost = size_t{1} << 20;
  text_in_memory_ += text;
  if (text_in_memory_.size() < kMost) return;
  if (!file_) file_ = std::tmpfile();
  if (!file_ || std::fseek(file_, long(bytes_in_file_), SEEK_SET) != 0 ||
      std::fwrite(text_in_memory_.data(), 1, text_in_memory_.size(), file_) != text_in_memory_.size())
    return;
  bytes_in_file_ += text_in_memory_.size();
  text_in_memory_.clear();
}

Status HeldOutput::release() {
  auto lost = [] { return Diag{.message = std::string("a temporary file for the output: ") + std::strerror(errno)}; };
  if (file_) {
    if (std::fflush(file_) != 0 || std::fseek(file_, 0, SEEK_SET) != 0) return lost();
    std::string chunk(1 << 16, '\0'), line;  // line: the start of a line that the next chunk continues
    for (size_t left = bytes_in_file_; left > 0;) {
      size_t n = std::fread(chunk.data(), 1, std::min(left, chunk.size()), file_);
      if (n == 0) return lost();
      line.append(chunk, 0, n);
      const size_t end = line.rfind('\n') + 1;
      print_output(std::string_view(line).substr(0, end));
      line.erase(0, end);
      left -= n;
    }
    std::fclose(std::exchange(file_, nullptr));
    text_in_memory_.insert(0, line);
  }
  print_output(text_in_memory_);
  text_in_memory_.clear();
  return Unit{};
}

}  // namespace tgc
