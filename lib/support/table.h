#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/pytext.h"

namespace tgc {

// Returns the rows as lines, with the cells in columns two spaces apart. A column with an 'r' at its index in
// `alignment` is right-aligned, any other left-aligned. A row of one cell is a heading, which does not widen the first
// column. The width of a cell is its number of code points outside color sequences.
inline std::string table_text(const std::vector<std::vector<std::string>>& rows, std::string_view alignment = "") {
  std::vector<size_t> widths;
  for (auto& row : rows)
    for (size_t i = 0; row.size() > 1 && i < row.size(); i++)
      widths.resize(std::max(widths.size(), i + 1)), widths[i] = std::max(widths[i], ansilen(row[i]));
  std::string out;
  for (auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); i++) {
      const std::string space(row.size() > 1 ? widths[i] - ansilen(row[i]) : 0, ' ');
      const bool is_right = i < alignment.size() && alignment[i] == 'r';
      line += (i ? "  " : "") + (is_right ? space + row[i] : row[i] + space);
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

inline std::vector<std::pair<std::string, size_t>> sorted_by_count(const std::map<std::string, size_t>& counts) {
  std::vector<std::pair<std::string, size_t>> out(counts.begin(), counts.end());
  std::ranges::stable_sort(out, std::greater(), &std::pair<std::string, size_t>::second);
  return out;
}

inline std::string count_row_text(size_t count, std::string_view what) {
  constexpr size_t kWidth = 8;
  std::string n = std::to_string(count);
  return std::string(n.size() < kWidth ? kWidth - n.size() : 0, ' ') + n + "  " + std::string(what) + "\n";
}

}  // namespace tgc
