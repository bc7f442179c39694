#include "lib/support/visible.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace tgc {
namespace {

// A code point and its length in bytes; the length is 0 if the bytes are not UTF-8.
struct CodePoint {
  uint32_t code;
  size_t bytes;
};
CodePoint code_point(std::string_view text, size_t at) {
  auto byte = [&](size_t i) { return at + i < text.size() ? uint32_t(uint8_t(text[at + i])) : 0; };
  uint32_t first = byte(0);
  size_t bytes = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3
                 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  if (bytes < 2) return {first, bytes};
  uint32_t code = first & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; i++) {
    if ((byte(i) & 0xC0) != 0x80) return {0, 0};
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  bool valid = code >= kLeast[bytes] && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  return valid ? CodePoint{code, bytes} : CodePoint{0, 0};
}

struct Span {
  uint32_t first, last;
};
// Unicode's control, zero-width, bidirectional and private-use characters.
constexpr Span kHidden[] = {{0x00, 0x08},     {0x0B, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},       {0x61C, 0x61C},
                            {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},   {0xFEFF, 0xFEFF},
                            {0xFFF9, 0xFFFB}, {0xE000, 0xF8FF}, {0xE0000, 0xE0FFF}, {0xF0000, 0x10FFFF}};

bool is_hidden(uint32_t code) {
  return std::ranges::any_of(kHidden, [&](Span s) { return code >= s.first && code <= s.last; });
}

// Returns the length in bytes of the tinygrad color sequence at the start of `text`; 0 if there is none.
size_t color_length(std::string_view text) {
  if (text.starts_with("\x1b[0m")) return 4;
  bool colored = text.size() >= 5 && text.starts_with("\x1b[") && (text[2] == '3' || text[2] == '9') &&
                 text[3] >= '0' && text[3] <= '7' && text[4] == 'm';
  return colored ? 5 : 0;
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= ' ' && c < 0x7F) || c == '\n' || c == '\t'; });
}

std::string shown(std::string_view text, bool colors) {
  if (is_plain(text)) return std::string(text);
  std::string out;
  char escape[12];
  for (size_t at = 0; at < text.size();) {
    if (size_t n = colors ? color_length(text.substr(at)) : 0) {
      out.append(text.substr(at, n));
      at += n;
      continue;
    }
    auto [code, bytes] = code_point(text, at);
    if (bytes && !is_hidden(code)) {
      out.append(text.substr(at, bytes));
    } else {
      if (!bytes) code = uint8_t(text[at]), bytes = 1;
      bool byte = code < 0x20 || text[at] == char(code);
      std::snprintf(escape, sizeof escape, byte ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
      out += escape;
    }
    at += bytes;
  }
  return out;
}

}  // namespace

std::string visible(std::string_view text) { return shown(text, false); }
std::string visible_in_color(std::string_view text) { return shown(text, true); }

}  // namespace tgc
