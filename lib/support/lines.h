#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

// A final '\n' does not start another line.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

inline std::string_view trimmed_line(std::string_view line) {
  size_t begin = line.find_first_not_of(" \t\r"), end = line.find_last_not_of(" \t\r");
  return begin == line.npos ? std::string_view() : line.substr(begin, end - begin + 1);
}

struct LineDiffOptions {
  size_t context_lines = 2;
  size_t max_lines = 40;     // the line "... and more" replaces further lines
  size_t max_width = 400;
  bool uses_color = false;
  // One key per line of each text; lines are equal if their keys are equal. If their number is not that of the lines,
  // the keys of a text are ignored.
  std::vector<uint64_t> old_keys = {}, new_keys = {};
};

// Returns the difference in hunks, similar to diff -u: "-" begins lines of `old_text`, "+" lines of `new_text`. Empty
// if all lines are equal.
std::string line_diff(std::string_view old_text, std::string_view new_text, const LineDiffOptions& options = {});

}  // namespace tgc
