// Formats named counts as text, one count per line.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tgc {

// Returns the pairs of name and count, the largest count first; equal counts in the order of the names.
inline std::vector<std::pair<std::string, size_t>> by_count(const std::map<std::string, size_t>& counts) {
  std::vector<std::pair<std::string, size_t>> out(counts.begin(), counts.end());
  std::ranges::stable_sort(out, std::greater(), &std::pair<std::string, size_t>::second);
  return out;
}

// Returns a line with the count (aligned to the right) and `what`: "      12  what\n".
inline std::string count_row(size_t count, std::string_view what) {
  constexpr size_t kWidth = 8;
  std::string n = std::to_string(count);
  return std::string(n.size() < kWidth ? kWidth - n.size() : 0, ' ') + n + "  " + std::string(what) + "\n";
}

}  // namespace tgc
