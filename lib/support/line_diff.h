// Line-by-line difference of two texts for human readers: hunks with context, similar to diff -u.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

struct LineDiffOptions {
  size_t context = 2;      // number of equal lines shown around a change
  size_t max_lines = 40;   // maximum number of lines shown; "... and more" stands for the others
  size_t max_width = 400;  // maximum number of bytes shown of a line
  bool color = false;
  // One key per line of each text, as lines_of() splits it; lines are equal if their keys are equal. If the numbers of
  // keys and lines differ, the keys are ignored and the lines are compared.
  std::vector<uint64_t> old_keys = {}, new_keys = {};
};

// Returns the difference: "-" begins lines of `old_text`, "+" lines of `new_text`. Empty if all lines are equal.
std::string line_diff(std::string_view old_text, std::string_view new_text, const LineDiffOptions& options = {});

}  // namespace tgc
