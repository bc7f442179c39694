// Splits text into lines, trims them, and finds the lines in which two texts differ.
#pragma once
#include <cstdint>
#include <string>
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

// Options of line_diff().
struct LineDiffOptions {
  size_t context_lines = 2;  // number of equal lines shown around a change
  size_t max_lines = 40;     // maximum number of lines shown; "... and more" replaces the others
  size_t max_width = 400;    // maximum number of bytes shown of a line
  bool use_color = false;
  // One key per line of each text, as lines_of() splits it; lines are equal if their keys are equal. The keys of a text
  // are ignored, and its lines are compared instead, if the numbers of keys and lines differ.
  std::vector<uint64_t> old_keys = {}, new_keys = {};
};

// Returns the line-by-line difference in hunks with context, similar to diff -u: "-" begins lines of `old_text`, "+"
// lines of `new_text`. Empty if all lines are equal.
std::string line_diff(std::string_view old_text, std::string_view new_text, const LineDiffOptions& options = {});

}  // namespace tgc
