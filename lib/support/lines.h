// Splits text into lines and trims them.
#pragma once
#include <string_view>
#include <vector>

namespace tgc {

// Returns the lines of `text` without their '\n', as views into `text`. A final '\n' does not start another line.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    size_t end = text.find('\n');
    out.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

// Returns `line` without leading and trailing blanks, tabs and carriage returns.
inline std::string_view trimmed(std::string_view line) {
  size_t begin = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r");
  return begin == line.npos ? std::string_view() : line.substr(begin, end - begin + 1);
}

}  // namespace tgc
