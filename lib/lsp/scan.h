#pragma once
#include <algorithm>
#include <string_view>

namespace tgc {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_name_char(char c) { return is_name_start(c) || is_digit(c); }

inline size_t name_end(std::string_view text, size_t at) {
  while (at < text.size() && is_name_char(text[at])) at++;
  return at;
}

inline size_t end_of_line(std::string_view text, size_t at) { return std::min(text.find('\n', at), text.size()); }

// Returns the offset behind the Python string whose quote is at `at`, or behind its line if the string is not closed. A
// backslash continues the string on the next line.
inline size_t end_of_string(std::string_view text, size_t at) {
  const char quote_char = text[at++];
  while (at < text.size() && text[at] != quote_char && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// Moves `end` back over spaces and line ends, but not before `begin`.
inline size_t end_before_blanks(std::string_view text, size_t begin, size_t end) {
  while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\r' || text[end - 1] == '\n')) end--;
  return end;
}

}  // namespace tgc
