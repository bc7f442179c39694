// Line-by-line difference of two texts for human readers: hunks with context, similar to diff -u.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

struct LineDiffOptions {
  size_t context = 2;      // equal lines shown around a change
  size_t max_lines = 40;   // lines shown in total; "... and more" follows if there are others
  size_t max_width = 400;  // bytes of a line shown
  bool color = false;
  // Keys to compare instead of the lines, one per line of lines_of() the text. If the number of keys is not the number
  // of lines, the lines themselves are compared.
  std::vector<uint64_t> old_keys = {}, new_keys = {};
};

// Returns the difference: "-" marks lines of `old_text`, "+" lines of `new_text`. Empty if all lines are equal.
std::string line_diff(std::string_view old_text, std::string_view new_text, const LineDiffOptions& options = {});

}  // namespace tgc
