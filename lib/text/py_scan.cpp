#include "lib/text/py_scan.h"

#include <algorithm>
#include <charconv>

#include "lib/support/plain_run.h"
#include "lib/text/source_position.h"

namespace tgc {

void PyScanner::throw_error(size_t at, std::string message, std::string expected) const {
  throw Failure(diag_at(input_text_, at, file_name_, std::move(message), std::move(expected)));
}

std::string PyScanner::found_text(size_t at) const { return found_text_at(input_text_, at); }

void PyScanner::throw_too_deep() const {
  Diag over = limit_error(Limit::Nesting);
  throw_error(position_, over.message, over.expected);
}

std::string PyScanner::position_text(size_t at) const {
  Diag d = diag_at(input_text_, at, {}, {}, {});
  return "line " + std::to_string(d.line) + ", column " + std::to_string(d.column);
}

void PyScanner::skip_text_slowly() {
  for (;;) {
    char c = peek_char();
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') position_++;
    else if (c == '\n' && open_brackets_ > 0) position_++;
    else if (c == '\\' && peek_char(1) == '\n') position_ += 2;
    else if (c == '#') position_ = std::min(input_text_.find('\n', position_), input_text_.size());
    else return;
  }
}

void PyScanner::skip_lines() {
  open_brackets_++;
  skip_text_slowly();
  open_brackets_--;
}

namespace {
// Returns nullopt unless each underscore is between two digits.
std::optional<std::string> without_underscores(std::string_view digits) {
  std::string out;
  auto is_digit_at = [&](size_t i) { return i < digits.size() && digits[i] >= '0' && digits[i] <= '9'; };
  for (size_t i = 0; i < digits.size(); i++) {
    if (digits[i] != '_') out += digits[i];
    else if (i == 0 || !is_digit_at(i - 1) || !is_digit_at(i + 1)) return std::nullopt;
  }
  return out;
}
}  // namespace

Const PyScanner::number() {
  size_t begin = position_;
  if (peek_char() != '0') {  // short decimal integers
    int64_t value = 0;
    size_t at = position_, last = std::min(input_text_.size(), position_ + 18);
    for (; at < last && is_digit(char_at(at)); at++) value = value * 10 + (char_at(at) - '0');
    if (at < last && char_at(at) != '.' && !is_name_char(char_at(at))) return position_ = at, value;
  }
  bool is_float = false;
  if (peek_char() == '0' && is_name_start(peek_char(1)) && (peek_char(1) | 32) != 'e' && peek_char(1) != '_') {
    position_ += 2;
    while (is_name_char(peek_char())) position_++;
  } else {
    while (is_digit(peek_char()) || peek_char() == '_') position_++;
    if (peek_char() == '.') is_float = true, position_++;
    while (is_digit(peek_char()) || peek_char() == '_') position_++;
    if ((peek_char() | 32) == 'e') {
      is_float = true;
      position_++;
      if (peek_char() == '-' || peek_char() == '+') position_++;
      while (is_digit(peek_char())) position_++;
    }
  }
  std::string_view digits = input_text_.substr(begin, position_ - begin);
  if (is_name_char(peek_char())) throw_error(begin, "'" + std::string(digits) + peek_char() + "...' is not a number");
  if (!is_float) {
    int64_t small;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), small);
    if (error == std::errc() && end == digits.data() + digits.size()) return small;
    if (digits.size() > 5000)
      throw_error(begin, "an integer of " + std::to_string(digits.size()) + " digits", "at most 5000");
    if (auto big = Int::parse(digits)) return *big;
  } else if (auto plain = without_underscores(digits)) {
    if (auto v = parse_py_float(plain->front() == '.' ? "0" + *plain : *plain)) return *v;
  }
  throw_error(begin, "'" + std::string(digits.substr(0, 40)) + "' is not a number");
}

std::string PyScanner::string(PyLiteral literal) {
  const size_t begin = position_;
  const char quote = char_at(position_++);
  bool is_escaped = false, is_ascii = true;
  for (; position_ = find_special_byte<'\'', '"', '\\'>(input_text_, position_), peek_char() != quote; position_++) {
    for (; peek_char() == '\\' && position_ + 1 < input_text_.size(); position_ += 2)
      is_escaped = true, is_ascii &= peek_char(1) >= 0;
    if (peek_char() == quote) break;
    if (peek_char() == '\n' || is_at_end()) throw_error(begin, "a string that does not end on its line");
    is_ascii &= peek_char() >= 0;
  }
  std::string_view body = input_text_.substr(begin + 1, position_++ - begin - 1);
  if (!is_ascii && literal == PyLiteral::Bytes) throw_error(begin, "bytes that are not ASCII");
  if (size_t bad = is_ascii ? body.npos : utf8_error(body); bad != body.npos)
    throw_error(begin + 1 + bad, "a string that is not UTF-8");
  if (!is_escaped) return std::string(body);
  auto value = py_unescape(body, literal);
  if (!value) throw_error(begin, "a malformed escape in a string");
  return *std::move(value);
}

}  // namespace tgc
