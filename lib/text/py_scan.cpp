#include "lib/text/py_scan.h"

#include <algorithm>
#include <charconv>

#include "lib/support/plain_run.h"
#include "lib/text/source_position.h"

namespace tgc {

void PyScan::fail(size_t at, std::string message, std::string expected) const {
  throw Failure(diag_at(text_, at, file_, std::move(message), std::move(expected)));
}

std::string PyScan::found(size_t at) const { return found_at(text_, at); }

void PyScan::too_deep() const {
  Diag over = over_limit(Limit::Nesting);
  fail(pos_, over.message, over.expected);
}

std::string PyScan::where(size_t at) const {
  Diag d = diag_at(text_, at, {}, {}, {});
  return "line " + std::to_string(d.line) + ", column " + std::to_string(d.column);
}

void PyScan::skip_slowly() {
  for (;;) {
    char c = peek();
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') pos_++;
    else if (c == '\n' && brackets_ > 0) pos_++;
    else if (c == '\\' && peek(1) == '\n') pos_ += 2;
    else if (c == '#') pos_ = std::min(text_.find('\n', pos_), text_.size());
    else return;
  }
}

void PyScan::skip_lines() {
  brackets_++;
  skip_slowly();
  brackets_--;
}

namespace {
// Returns the number `digits` without underscores. Returns nullopt unless each underscore is between two digits.
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

Const PyScan::number() {
  size_t begin = pos_;
  if (peek() != '0') {  // fast path for short decimal integers
    int64_t value = 0;
    size_t at = pos_, last = std::min(text_.size(), pos_ + 18);
    for (; at < last && is_digit(char_at(at)); at++) value = value * 10 + (char_at(at) - '0');
    if (at < last && char_at(at) != '.' && !is_name(char_at(at))) return pos_ = at, value;
  }
  bool is_float = false;
  if (peek() == '0' && is_name_start(peek(1)) && (peek(1) | 32) != 'e' && peek(1) != '_') {
    pos_ += 2;
    while (is_name(peek())) pos_++;
  } else {
    while (is_digit(peek()) || peek() == '_') pos_++;
    if (peek() == '.') is_float = true, pos_++;
    while (is_digit(peek()) || peek() == '_') pos_++;
    if ((peek() | 32) == 'e') {
      is_float = true;
      pos_++;
      if (peek() == '-' || peek() == '+') pos_++;
      while (is_digit(peek())) pos_++;
    }
  }
  std::string_view digits = text_.substr(begin, pos_ - begin);
  if (is_name(peek())) fail(begin, "'" + std::string(digits) + peek() + "...' is not a number");
  if (!is_float) {
    int64_t small;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), small);
    if (error == std::errc() && end == digits.data() + digits.size()) return small;
    if (digits.size() > 5000) fail(begin, "an integer of " + std::to_string(digits.size()) + " digits", "at most 5000");
    if (auto big = Int::parse(digits)) return *big;
  } else if (auto plain = without_underscores(digits)) {
    if (auto v = parse_py_float(plain->front() == '.' ? "0" + *plain : *plain)) return *v;
  }
  fail(begin, "'" + std::string(digits.substr(0, 40)) + "' is not a number");
}

std::string PyScan::string(PyLiteral literal) {
  const size_t begin = pos_;
  const char quote = char_at(pos_++);
  bool is_escaped = false, is_ascii = true;
  for (; pos_ = plain_end<'\'', '"', '\\'>(text_, pos_), peek() != quote; pos_++) {
    for (; peek() == '\\' && pos_ + 1 < text_.size(); pos_ += 2) is_escaped = true, is_ascii &= peek(1) >= 0;
    if (peek() == quote) break;
    if (peek() == '\n' || at_end()) fail(begin, "a string that does not end on its line");
    is_ascii &= peek() >= 0;
  }
  std::string_view body = text_.substr(begin + 1, pos_++ - begin - 1);
  if (!is_ascii && literal == PyLiteral::Bytes) fail(begin, "bytes that are not ASCII");
  if (size_t bad = is_ascii ? body.npos : utf8_error(body); bad != body.npos)
    fail(begin + 1 + bad, "a string that is not UTF-8");
  if (!is_escaped) return std::string(body);
  auto value = py_unescape(body, literal);
  if (!value) fail(begin, "a malformed escape in a string");
  return *std::move(value);
}

}  // namespace tgc
