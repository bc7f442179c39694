#include "lib/view/short_lines.h"

#include <algorithm>
#include <cctype>

#include "lib/support/sha256.h"

namespace tgc {
namespace {

constexpr size_t kMaxLiteral = 200;
constexpr size_t kShortLiteral = 40;

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

size_t node_name_end(std::string_view text, size_t i) {
  size_t end = i + 1;
  while (end < text.size() && end - i < 9 && std::isdigit(static_cast<unsigned char>(text[end]))) end++;
  bool is_name = text[i] == 'c' && end > i + 1 && (text[i + 1] != '0' || end == i + 2);
  is_name &= (i == 0 || !is_word_char(text[i - 1])) && (end == text.size() || !is_word_char(text[end]));
  return is_name ? end : 0;
}

std::string RelativeNames::line(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t end = node_name_end(text, i);
    if (!end) {
      out += text[i++];
      continue;
    }
    const size_t number = std::stoul(std::string(text.substr(i + 1, end - i - 1)));
    const bool is_own = i == 0 && text.substr(end).starts_with(" = ");
    const size_t from = is_own ? next_number_ : defined_number_;
    out += "c" + std::to_string(number <= from ? from - number : number);
    if (is_own) defined_number_ = number, next_number_ = number + 1;
    i = end;
  }
  return out;
}

std::string shorten_literals(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const char quote = text[i];
    size_t end = i + 1;
    if (quote == '\'' || quote == '"') {
      while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    }
    const std::string_view piece = text.substr(i, end - i);
    const bool is_name = piece.find("\\x1b[") != piece.npos && (i == 0 || text[i - 1] != 'b');
    if (piece.size() <= kMaxLiteral || is_name) out += piece;
    else
      out.append(piece.substr(0, kShortLiteral)).append("...").append(sha256_hex(sha256(piece)).substr(0, 8)) += quote;
    i = end;
  }
  return out;
}

}  // namespace tgc
