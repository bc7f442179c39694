#include "lib/text/source_position.h"

#include <algorithm>
#include <cstdio>

namespace tgc {

Diag diag_at(std::string_view text, size_t at, std::string_view file, std::string message, std::string expected) {
  at = std::min(at, text.size());
  size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1);
  begin = at == 0 || begin == text.npos ? 0 : begin + 1;
  size_t end = std::min(text.find('\n', at), text.size());
  Diag d{.message = std::move(message), .file = std::string(file), .expected = std::move(expected)};
  d.line = uint32_t(1 + std::count(text.begin(), text.begin() + ptrdiff_t(begin), '\n'));
  d.column = uint32_t(at - begin + 1);
  // at most 100 bytes of a long line, including byte `at`
  size_t from = at - begin > 60 ? at - 60 : begin, to = std::min(end, from + 100);
  std::string line(text.substr(from, to - from));
  for (char& c : line)
    if (uint8_t(c) < 0x20 || c == 0x7F) c = '?';
  d.context = "  " + line + "\n  " + std::string(at - from, ' ') + "^";
  return d;
}

std::string found_text_at(std::string_view text, size_t at) {
  if (at >= text.size()) return "the end of the input";
  char c = text[at];
  if (c == '\n') return "the end of the line";
  auto is_word = [](char x) {
    return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || (x >= '0' && x <= '9') || x == '_';
  };
  if (is_word(c)) {
    size_t end = at;
    while (end < text.size() && end - at < 40 && is_word(text[end])) end++;
    return "'" + std::string(text.substr(at, end - at)) + "'";
  }
  if (uint8_t(c) < 0x20 || uint8_t(c) >= 0x7F) {
    char hex[20];
    std::snprintf(hex, sizeof hex, "the byte 0x%02X", uint8_t(c));
    return hex;
  }
  return std::string("'") + c + "'";
}

size_t offset_of_node(const NodePlaces& places, uint32_t id) {
  auto after =
      std::upper_bound(places.begin(), places.end(), id, [](uint32_t i, const NodePlace& p) { return i < p.first_id; });
  return after == places.begin() ? 0 : (after - 1)->offset;
}

}  // namespace tgc
