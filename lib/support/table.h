// Texts in columns.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

namespace tgc {

// Returns the rows as lines, with the cells left-aligned in columns two spaces apart and no trailing spaces. A row of
// one cell is a heading and does not widen its column.
inline std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (auto& row : rows)
    for (size_t i = 0; row.size() > 1 && i < row.size(); i++)
      widths.resize(std::max(widths.size(), i + 1)), widths[i] = std::max(widths[i], row[i].size());
  std::string out;
  for (auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); i++) {
      line += row[i];
      if (i + 1 < row.size()) line.resize(line.size() + widths[i] + 2 - row[i].size(), ' ');
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace tgc
