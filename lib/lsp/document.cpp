#include "lib/lsp/document.h"

#include <algorithm>

namespace tgc {
namespace {

// Returns the number of UTF-16 code units that the character with the first byte `c` has; 0 for its other bytes.
int utf16_units(char c) { return (uint8_t(c) & 0xC0) == 0x80 ? 0 : uint8_t(c) >= 0xF0 ? 2 : 1; }

}  // namespace

Document::Document(std::string text) : text_(std::move(text)), lines_{0} {
  for (size_t at = 0; (at = text_.find('\n', at)) != text_.npos;) lines_.push_back(++at);
  is_ascii_ = std::ranges::all_of(text_, [](char c) { return uint8_t(c) < 0x80; });
}

size_t Document::offset(TextPosition position) const {
  if (position.line < 0) return 0;
  if (size_t(position.line) >= lines_.size()) return text_.size();
  size_t at = lines_[size_t(position.line)];
  size_t end = std::min(text_.find('\n', at), text_.size());
  if (end > at && text_[end - 1] == '\r') end--;
  if (position.character <= 0) return at;
  if (is_ascii_) return at + std::min(size_t(position.character), end - at);
  for (int64_t units = 0; at < end; at++) {
    units += utf16_units(text_[at]);
    if (units > position.character) break;
  }
  return at;
}

TextPosition Document::position(size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto line = std::ranges::upper_bound(lines_, offset) - 1;
  TextPosition out{line - lines_.begin(), int64_t(offset - *line)};
  if (is_ascii_) return out;
  out.character = 0;
  for (size_t at = *line; at < offset; at++) out.character += utf16_units(text_[at]);
  return out;
}

std::string Document::replaced(TextPosition begin, TextPosition end, std::string_view by) const {
  const size_t from = offset(begin), to = std::max(from, offset(end));
  return text_.substr(0, from).append(by) + text_.substr(to);
}

}  // namespace tgc
