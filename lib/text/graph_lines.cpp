#include "lib/text/graph_lines.h"

#include <unordered_map>

#include "lib/support/line_diff.h"
#include "lib/support/lines.h"

namespace tgc {

std::vector<uint64_t> graph_line_keys(std::string_view text) {
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto is_word = [&](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_'; };
  std::unordered_map<std::string_view, uint64_t> names;
  std::vector<uint64_t> keys;
  for (std::string_view line : lines_of(text)) {
    if (line.substr(0, 4) == "def ") names.clear();
    size_t indent = line.find_first_not_of(' '), equals = line.find(" = ");
    std::string_view defined = equals == line.npos ? std::string_view() : line.substr(indent, equals - indent);
    uint64_t key = 0;
    auto mix = [&](uint64_t v) { key = (key ^ v) * 0x9E3779B97F4A7C15ull, key ^= key >> 29; };
    for (size_t i = defined.empty() ? 0 : equals; i < line.size();) {
      size_t end = i + 1;
      if (is_word(line[i]))
        while (end < line.size() && is_word(line[end])) end++;
      std::string_view word = line.substr(i, end - i);
      auto known = word[0] == 'c' ? names.find(word) : names.end();
      if (known != names.end()) mix(known->second);
      else mix(std::hash<std::string_view>()(word));
      i = end;
    }
    if (!defined.empty()) names[defined] = key;
    keys.push_back(key);
  }
  return keys;
}

}  // namespace tgc
