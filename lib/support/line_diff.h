// The difference of two texts, line by line, for people: a few hunks with context, in the manner of diff -u.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

struct LineDiffOptions {
  size_t context = 2;      // equal lines shown around a change
  size_t max_lines = 40;   // shown in all; what is left out is said
  size_t max_width = 400;  // bytes of a line shown
  bool color = false;
  // What makes two lines equal: one key per line of lines_of() the text. Empty: the lines themselves.
  std::vector<uint64_t> old_keys = {}, new_keys = {};
};

// "-" lines are of `old_text`, "+" lines of `new_text`. Empty when every line is equal.
std::string line_diff(std::string_view old_text, std::string_view new_text, const LineDiffOptions& options = {});

}  // namespace tgc
