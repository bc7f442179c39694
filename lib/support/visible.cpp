#include "lib/support/visible.h"

#include <algorithm>
#include <cstdio>

#include "lib/support/pytext.h"

namespace tgc {
namespace {

struct CodePointRange {
  uint32_t first, last;
};
// Unicode's control characters (except '\t' and '\n'), line and paragraph separators, private-use and default ignorable
// characters, and U+2800.
constexpr CodePointRange kHidden[] = {
    {0x00, 0x08}, {0x0B, 0x1F}, {0x7F, 0x9F}, {0xAD, 0xAD}, {0x34F, 0x34F}, {0x61C, 0x61C}, {0x115F, 0x1160},
    {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0x2800, 0x2800},
    {0x3164, 0x3164}, {0xE000, 0xF8FF}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB},
    {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}, {0xF0000, 0x10FFFF}};

// Returns the length in bytes of the tinygrad color sequence at the start of `text`; 0 if there is none.
size_t color_length(std::string_view text) {
  if (text.starts_with("\x1b[0m")) return 4;
  bool colored = text.size() >= 5 && text.starts_with("\x1b[") && (text[2] == '3' || text[2] == '9') &&
                 text[3] >= '0' && text[3] <= '7' && text[4] == 'm';
  return colored ? 5 : 0;
}

bool is_plain_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= ' ' && c < 0x7F) || c == '\n' || c == '\t'; });
}

std::string escape_hidden(std::string_view text, bool colors) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string out;
  char escape[12];
  for (size_t at = 0; at < text.size();) {
    if (size_t n = colors ? color_length(text.substr(at)) : 0) {
      out.append(text.substr(at, n));
      at += n;
      continue;
    }
    size_t begin = at;
    int32_t decoded = decode_utf8(text, at);
    uint32_t code = decoded < 0 ? uint8_t(text[begin]) : uint32_t(decoded);
    if (decoded >= 0 && !is_hidden(code)) {
      out.append(text.substr(begin, at - begin));
    } else {
      bool byte = code < 0x20 || text[begin] == char(code);
      std::snprintf(escape, sizeof escape, byte ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
      out += escape;
    }
  }
  return out;
}

}  // namespace

bool is_hidden(uint32_t code) {
  return std::ranges::any_of(kHidden, [&](CodePointRange s) { return code >= s.first && code <= s.last; });
}

namespace {
// A CI service may skip these characters when it looks for a command at the beginning of a line.
bool may_be_skipped_by_ci(uint32_t code) {
  constexpr CodePointRange kSpaces[] = {{0x09, 0x0D}, {0x20, 0x20}, {0xA0, 0xA0}, {0x1680, 0x1680}, {0x2000, 0x200A},
                                        {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
  return is_hidden(code) ||
         std::ranges::any_of(kSpaces, [&](CodePointRange s) { return code >= s.first && code <= s.last; });
}
}  // namespace

std::string escape_workflow_commands(std::string_view text) {
  std::string out;
  bool is_line_begin = true;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const bool is_command = (is_line_begin && rest.starts_with("::")) || rest.starts_with("##[") ||
                            rest.starts_with("##vso[") || rest.starts_with("##teamcity[");
    const size_t begin = at;
    const int32_t decoded = decode_utf8(text, at);
    out += text.substr(begin, at - begin);
    if (is_command) out += ' ';
    const bool is_line_end =
        decoded == '\n' || decoded == '\r' || decoded == 0x85 || decoded == 0x2028 || decoded == 0x2029;
    is_line_begin = is_line_end || (is_line_begin && (decoded < 0 || may_be_skipped_by_ci(uint32_t(decoded))));
  }
  return out;
}

std::string without_control_chars(std::string_view text) {
  std::string out;
  char escape[8];
  for (size_t at = 0; at < text.size(); at++) {
    const uint8_t byte = uint8_t(text[at]), next = at + 1 < text.size() ? uint8_t(text[at + 1]) : 0;
    const bool is_c1 = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    const bool is_line_end = byte == '\n' || (byte == '\r' && next == '\n');
    if (size_t n = color_length(text.substr(at))) {
      out.append(text.substr(at, n)), at += n - 1;
    } else if (is_c1 || byte == 0x7F || (byte < ' ' && byte != '\t' && !is_line_end)) {
      std::snprintf(escape, sizeof escape, "\\u%04x", is_c1 ? next : byte);
      out += escape, at += is_c1;
    } else {
      out += text[at];
    }
  }
  return out;
}

bool is_one_line(std::string_view text) {
  return text.find('\n') == text.npos && text.find('\t') == text.npos && visible_colored_text(text) == text;
}

std::string visible_text(std::string_view text) { return escape_hidden(text, false); }
std::string visible_colored_text(std::string_view text) { return escape_hidden(text, true); }

}  // namespace tgc
