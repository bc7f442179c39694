#include "lib/text/json_scan.h"

#include <charconv>

#include "lib/support/deep_stack.h"
#include "lib/support/pytext.h"
#include "lib/text/source_position.h"

namespace tgc {
namespace {

constexpr uint32_t kMaxDepth = 4096;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void JsonScanner::throw_error(size_t at, std::string message, std::string expected) {
  Diag d = diag_at(input_text_, at, file_name_, std::move(message), std::move(expected));
  d.line += first_line_ - 1;
  throw Failure(std::move(d));
}

void JsonScanner::throw_wrong_type(const char* expected) {
  throw_error(position_, "found " + found_text_at(input_text_, position_), expected);
}

JsonScanner::Type JsonScanner::peek_type() {
  skip_blanks();
  switch (current_char()) {
    case '{': return Type::Object;
    case '[': return Type::Array;
    case '"': return Type::String;
    case 't': return Type::True;
    case 'f': return Type::False;
    case 'n': return Type::Null;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9': return Type::Number;
    default: throw_wrong_type("a JSON value");
  }
}

bool JsonScanner::open_bracket(char bracket, const char* what) {
  skip_blanks();
  if (position_ >= input_text_.size() || input_text_[position_] != bracket) throw_wrong_type(what);
  if (++nesting_depth_ > kMaxDepth)
    throw_error(position_, "brackets are nested more than " + std::to_string(kMaxDepth) + " deep");
  position_++;
  skip_blanks();
  // in ASCII, ']' is '[' + 2 and '}' is '{' + 2
  if (position_ >= input_text_.size() || input_text_[position_] != bracket + 2) return true;
  position_++;
  nesting_depth_--;
  return false;
}

bool JsonScanner::read_closing_bracket(char bracket) {
  if (current_char() != bracket)
    throw_error(position_, "found " + found_text_at(input_text_, position_), std::string("',' or '") + bracket + "'");
  position_++;
  nesting_depth_--;
  return false;
}

void JsonScanner::read_key_slowly(std::string_view& key) {
  string(key_buffer_);
  key = key_buffer_;
  skip_blanks();
  if (current_char() != ':') throw_wrong_type("':'");
  position_++;
}

void JsonScanner::string(std::string& out) {
  out.clear();
  skip_blanks();
  if (current_char() != '"') throw_wrong_type("a string");
  const size_t begin = position_++;
  bool is_ascii = true;
  for (;;) {
    size_t end = find_special_byte<'"', '\\'>(input_text_, position_);
    for (; end < input_text_.size() && input_text_[end] < 0; end++) is_ascii = false;
    out.append(input_text_, position_, end - position_);
    position_ = end;
    if (position_ >= input_text_.size()) throw_error(begin, "a string without an end", "'\"'");
    if (input_text_[position_] == '"') break;
    if (input_text_[position_] == '\\') read_escape(out);
    else if (uint8_t(input_text_[position_]) < ' ')
      throw_error(position_, "found " + found_text_at(input_text_, position_) + " in a string",
                  "an escape such as \\n");
  }
  if (size_t bad = is_ascii ? input_text_.npos : utf8_error(input_text_.substr(begin, position_ - begin));
      bad != input_text_.npos)
    throw_error(begin + bad, "a string that is not UTF-8");
  position_++;
}

std::string_view JsonScanner::string_view(std::string& room) {
  skip_blanks();
  if (current_char() == '"') {
    const size_t begin = position_ + 1, end = find_special_byte<'"', '\\'>(input_text_, begin);
    if (end < input_text_.size() && input_text_[end] == '"')
      return position_ = end + 1, input_text_.substr(begin, end - begin);
  }
  string(room);
  return room;
}

uint32_t JsonScanner::read_hex4(size_t at) {
  uint32_t value = 0;
  const char* first = input_text_.data() + at;
  if (at + 4 > input_text_.size()) throw_error(at, "an escape that is cut short", "four hexadecimal digits");
  auto [end, error] = std::from_chars(first, first + 4, value, 16);
  if (error != std::errc() || end != first + 4) throw_error(at, "a malformed escape", "four hexadecimal digits");
  return value;
}

void JsonScanner::read_escape(std::string& out) {
  static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
  char c = position_ + 1 < input_text_.size() ? input_text_[position_ + 1] : '\0';
  if (size_t i = kFrom.find(c); c && i != kFrom.npos) {
    out += kTo[i];
    position_ += 2;
    return;
  }
  if (c != 'u')
    throw_error(position_, "an unknown escape in a string", "one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
  uint32_t code = read_hex4(position_ + 2);
  size_t used = 6;
  if (code >= 0xD800 && code < 0xDC00 && input_text_.substr(position_ + 6, 2) == "\\u") {
    uint32_t low = read_hex4(position_ + 8);
    if (low >= 0xDC00 && low < 0xE000) code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), used = 12;
  }
  if (code >= 0xD800 && code < 0xE000) throw_error(position_, "half of a surrogate pair");
  append_utf8(out, code);
  position_ += used;
}

std::string JsonScanner::string() {
  std::string out;
  string(out);
  return out;
}

std::optional<std::string> JsonScanner::read_string_or_null() {
  if (read_null()) return std::nullopt;
  return string();
}

void JsonScanner::expect_literal(std::string_view word) {
  if (input_text_.substr(position_, word.size()) != word) throw_wrong_type("a JSON value");
  position_ += word.size();
}

bool JsonScanner::read_null() {
  if (peek_type() != Type::Null) return false;
  expect_literal("null");
  return true;
}

bool JsonScanner::read_boolean() {
  Type t = peek_type();
  if (t != Type::True && t != Type::False) throw_wrong_type("true or false");
  expect_literal(t == Type::True ? "true" : "false");
  return t == Type::True;
}

std::string_view JsonScanner::number() {
  if (peek_type() != Type::Number) throw_wrong_type("a number");
  size_t begin = position_;
  auto digits = [&] {
    size_t from = position_;
    while (position_ < input_text_.size() && is_digit(input_text_[position_])) position_++;
    if (position_ == from) throw_error(position_, "found " + found_text_at(input_text_, position_), "a digit");
  };
  if (input_text_[position_] == '-') position_++;
  digits();
  if (position_ < input_text_.size() && input_text_[position_] == '.') position_++, digits();
  if (position_ < input_text_.size() && (input_text_[position_] | 32) == 'e') {
    position_++;
    if (position_ < input_text_.size() && (input_text_[position_] == '-' || input_text_[position_] == '+')) position_++;
    digits();
  }
  return input_text_.substr(begin, position_ - begin);
}

int64_t JsonScanner::read_int64() {
  if (auto value = short_int()) return *value;
  size_t at = (skip_blanks(), position_);
  std::string_view text = number();
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw_error(at, "found " + std::string(text.substr(0, 40)), "an integer of at most 64 bits");
  return value;
}

std::string_view JsonScanner::skip_any() {
  return nesting_depth_ % kStackCheckLevels ? skip_value() : call_with_stack([&] { return skip_value(); });
}

std::string_view JsonScanner::skip_value() {
  skip_blanks();
  size_t begin = position_;
  switch (peek_type()) {
    case Type::Object: object([&](std::string_view) { skip_any(); }); break;
    case Type::Array: array([&] { skip_any(); }); break;
    case Type::String: string(key_buffer_); break;
    case Type::Number: number(); break;
    case Type::True: expect_literal("true"); break;
    case Type::False: expect_literal("false"); break;
    case Type::Null: expect_literal("null"); break;
  }
  return input_text_.substr(begin, position_ - begin);
}

void JsonScanner::expect_end() {
  skip_blanks();
  if (position_ < input_text_.size())
    throw_error(position_, "found " + found_text_at(input_text_, position_) + " after the value", "the end");
}

}  // namespace tgc
