#include "lib/lsp/markdown.h"

#include <algorithm>

#include "lib/support/visible.h"

namespace tgc {

std::string code_span(std::string_view text) {
  std::string out = visible(text);
  std::ranges::replace(out, '\n', ' ');
  size_t longest = 0, row = 0;
  for (char c : out) row = c == '`' ? row + 1 : 0, longest = std::max(longest, row);
  if (longest == 0 && !out.empty()) return "`" + out + "`";
  const std::string fence(longest + 1, '`');
  return fence + " " + out + " " + fence;
}

std::string plain_markdown(std::string_view text) {
  constexpr std::string_view kSpecial = "\\`*_{}[]<>()#+!|~&:.@";  // also those that make a bare address a link
  constexpr std::string_view kWord = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  if (text.find_first_not_of(kWord) == text.npos) return std::string(text);
  std::string out;
  for (char c : visible(text)) {
    if (kSpecial.find(c) != kSpecial.npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace tgc
