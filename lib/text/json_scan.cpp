#include "lib/text/json_scan.h"

#include <charconv>

#include "lib/support/deep_stack.h"
#include "lib/support/pytext.h"
#include "lib/text/source_position.h"

namespace tgc {
namespace {

constexpr uint32_t kMaxDepth = 4096;  // limit on the nesting depth of arrays and objects

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

void JsonScanner::fail(size_t at, std::string message, std::string expected) {
  Diag d = diag_at(text_, at, file_, std::move(message), std::move(expected));
  d.line += first_line_ - 1;
  throw Failure(std::move(d));
}

void JsonScanner::wrong_type(const char* expected) { fail(pos_, "found " + found_at(text_, pos_), expected); }

JsonScanner::Type JsonScanner::peek() {
  blanks();
  switch (here()) {
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
    default: wrong_type("a JSON value");
  }
}

bool JsonScanner::open(char bracket, const char* what) {
  blanks();
  if (pos_ >= text_.size() || text_[pos_] != bracket) wrong_type(what);
  if (++depth_ > kMaxDepth) fail(pos_, "brackets are nested more than " + std::to_string(kMaxDepth) + " deep");
  pos_++;
  blanks();
  if (pos_ >= text_.size() || text_[pos_] != bracket + 2) return true;  // in ASCII, ']' is '[' + 2 and '}' is '{' + 2
  pos_++;
  depth_--;
  return false;
}

bool JsonScanner::take_closing(char bracket) {
  if (here() != bracket) fail(pos_, "found " + found_at(text_, pos_), std::string("',' or '") + bracket + "'");
  pos_++;
  depth_--;
  return false;
}

void JsonScanner::read_key_slowly(std::string_view& key) {
  string(key_);
  key = key_;
  blanks();
  if (here() != ':') wrong_type("':'");
  pos_++;
}

void JsonScanner::string(std::string& out) {
  out.clear();
  blanks();
  if (here() != '"') wrong_type("a string");
  const size_t begin = pos_++;
  bool is_ascii = true;
  for (;;) {
    size_t end = plain_end<'"', '\\'>(text_, pos_);
    for (; end < text_.size() && text_[end] < 0; end++) is_ascii = false;
    out.append(text_, pos_, end - pos_);
    pos_ = end;
    if (pos_ >= text_.size()) fail(begin, "a string without an end", "'\"'");
    if (text_[pos_] == '"') break;
    if (text_[pos_] == '\\') escape(out);
    else if (uint8_t(text_[pos_]) < ' ')
      fail(pos_, "found " + found_at(text_, pos_) + " in a string", "an escape such as \\n");
  }
  if (size_t bad = is_ascii ? text_.npos : utf8_error(text_.substr(begin, pos_ - begin)); bad != text_.npos)
    fail(begin + bad, "a string that is not UTF-8");
  pos_++;
}

std::string_view JsonScanner::string_view(std::string& room) {
  blanks();
  if (here() == '"') {
    const size_t begin = pos_ + 1, end = plain_end<'"', '\\'>(text_, begin);
    if (end < text_.size() && text_[end] == '"') return pos_ = end + 1, text_.substr(begin, end - begin);
  }
  string(room);
  return room;
}

uint32_t JsonScanner::hex4(size_t at) {
  uint32_t value = 0;
  const char* first = text_.data() + at;
  if (at + 4 > text_.size()) fail(at, "an escape that is cut short", "four hexadecimal digits");
  auto [end, error] = std::from_chars(first, first + 4, value, 16);
  if (error != std::errc() || end != first + 4) fail(at, "a malformed escape", "four hexadecimal digits");
  return value;
}

void JsonScanner::escape(std::string& out) {
  static constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
  char c = pos_ + 1 < text_.size() ? text_[pos_ + 1] : '\0';
  if (size_t i = kFrom.find(c); c && i != kFrom.npos) {
    out += kTo[i];
    pos_ += 2;
    return;
  }
  if (c != 'u') fail(pos_, "an unknown escape in a string", "one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
  uint32_t code = hex4(pos_ + 2);
  size_t used = 6;
  if (code >= 0xD800 && code < 0xDC00 && text_.substr(pos_ + 6, 2) == "\\u") {
    uint32_t low = hex4(pos_ + 8);
    if (low >= 0xDC00 && low < 0xE000) code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), used = 12;
  }
  if (code >= 0xD800 && code < 0xE000) fail(pos_, "half of a surrogate pair");
  append_utf8(out, code);
  pos_ += used;
}

std::string JsonScanner::string() {
  std::string out;
  string(out);
  return out;
}

std::optional<std::string> JsonScanner::string_or_null() {
  if (null()) return std::nullopt;
  return string();
}

void JsonScanner::literal(std::string_view word) {
  if (text_.substr(pos_, word.size()) != word) wrong_type("a JSON value");
  pos_ += word.size();
}

bool JsonScanner::null() {
  if (peek() != Type::Null) return false;
  literal("null");
  return true;
}

bool JsonScanner::boolean() {
  Type t = peek();
  if (t != Type::True && t != Type::False) wrong_type("true or false");
  literal(t == Type::True ? "true" : "false");
  return t == Type::True;
}

std::string_view JsonScanner::number() {
  if (peek() != Type::Number) wrong_type("a number");
  size_t begin = pos_;
  auto digits = [&] {
    size_t from = pos_;
    while (pos_ < text_.size() && is_digit(text_[pos_])) pos_++;
    if (pos_ == from) fail(pos_, "found " + found_at(text_, pos_), "a digit");
  };
  if (text_[pos_] == '-') pos_++;
  digits();
  if (pos_ < text_.size() && text_[pos_] == '.') pos_++, digits();
  if (pos_ < text_.size() && (text_[pos_] | 32) == 'e') {
    pos_++;
    if (pos_ < text_.size() && (text_[pos_] == '-' || text_[pos_] == '+')) pos_++;
    digits();
  }
  return text_.substr(begin, pos_ - begin);
}

int64_t JsonScanner::int64() {
  if (auto value = short_int()) return *value;
  size_t at = (blanks(), pos_);
  std::string_view text = number();
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(at, "found " + std::string(text.substr(0, 40)), "an integer of at most 64 bits");
  return value;
}

std::string_view JsonScanner::skip() {
  return depth_ % kStackCheck ? skip_value() : with_stack([&] { return skip_value(); });
}

std::string_view JsonScanner::skip_value() {
  blanks();
  size_t begin = pos_;
  switch (peek()) {
    case Type::Object: object([&](std::string_view) { skip(); }); break;
    case Type::Array: array([&] { skip(); }); break;
    case Type::String: string(key_); break;
    case Type::Number: number(); break;
    case Type::True: literal("true"); break;
    case Type::False: literal("false"); break;
    case Type::Null: literal("null"); break;
  }
  return text_.substr(begin, pos_ - begin);
}

void JsonScanner::end() {
  blanks();
  if (pos_ < text_.size()) fail(pos_, "found " + found_at(text_, pos_) + " after the value", "the end");
}

}  // namespace tgc
