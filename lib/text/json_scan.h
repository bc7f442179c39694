// A pull scanner for JSON, in which numbers may have leading zeros. The input is untrusted. Errors throw a Failure with
// line and column.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "lib/support/int.h"
#include "lib/support/json_writer.h"  // included for users of this header, which need JsonWriter too
#include "lib/support/plain_run.h"
#include "lib/support/result.h"

namespace tgc {

class JsonScanner {
 public:
  // `text` begins at line `first_line` of the input `file`.
  explicit JsonScanner(std::string_view text, std::string_view file = {}, uint32_t first_line = 1)
      : input_text_(text), file_name_(file), first_line_(first_line) {}

  enum class Type : uint8_t { Object, Array, String, Number, True, False, Null };
  Type peek_type();

  // Calls on_key(key) for each member in order. on_key must read the member's value. `key` is valid until the scanner
  // reads its next string.
  template <class OnKey>
  void object(OnKey&& on_key) {
    std::string_view key;
    for (bool more = open_bracket('{', "an object"); more; more = next_item('}')) {
      read_key(key);
      on_key(key);
    }
  }
  // As object(), but stops as soon as on_key returns false, and leaves the rest unread.
  template <class OnKey>
  void read_object_while(OnKey&& on_key) {
    std::string_view key;
    for (bool more = open_bracket('{', "an object"); more; more = next_item('}')) {
      read_key(key);
      if (!on_key(key)) return;
    }
  }
  // Calls on_item() for each item in order. on_item must read the item.
  template <class OnItem>
  void array(OnItem&& on_item) {
    for (bool more = open_bracket('[', "an array"); more; more = next_item(']')) on_item();
  }

  std::string string();
  void string(std::string& out);                 // reuses the memory of `out`
  // Returns a view of the text, or of `room`, which receives a string with escapes or non-ASCII characters.
  std::string_view string_view(std::string& room);
  std::optional<std::string> read_string_or_null();
  bool read_boolean();
  bool read_null();  // if another value comes next, returns false and reads nothing
  int64_t read_int64();
  // As read_int64(), but faster, and only for some integers of few digits; otherwise returns nullopt and reads nothing.
  std::optional<int64_t> short_int() {
    skip_blanks();
    int64_t value = 0;
    size_t at = position_;
    for (const size_t last = std::min(input_text_.size(), position_ + 18);
         at < last && input_text_[at] >= '0' && input_text_[at] <= '9'; at++)
      value = value * 10 + (input_text_[at] - '0');
    if (at == position_ || at >= input_text_.size() ||
        (input_text_[at] != ',' && input_text_[at] != ']' && input_text_[at] != '}'))
      return std::nullopt;
    position_ = at;
    return value;
  }
  std::string_view number();
  std::string_view skip_any();  // reads any value, returns its text
  void expect_end();          // throws a Failure unless only blanks are left

  size_t position() { return skip_blanks(), position_; }
  [[noreturn]] void throw_error(size_t at, std::string message, std::string expected = {});

 private:
  std::string_view skip_value();
  char current_char() const { return position_ < input_text_.size() ? input_text_[position_] : '\0'; }
  void skip_blanks() {
    while (position_ < input_text_.size() && uint8_t(input_text_[position_]) <= ' ' && is_blank(input_text_[position_]))
      position_++;
  }
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
  // reads `bracket` and returns true; of an empty array or object, also reads the end and returns false
  bool open_bracket(char bracket, const char* what);
  // reads a ',' and returns true, or reads `close` and returns false
  bool next_item(char close) {
    skip_blanks();
    if (current_char() == ',') return position_++, true;
    return read_closing_bracket(close);
  }
  bool read_closing_bracket(char bracket);
  void read_key(std::string_view& key) {
    skip_blanks();
    const size_t begin = position_ + 1;
    if (current_char() != '"') throw_wrong_type("a key in quotes");
    const size_t end = find_special_byte<'"', '\\'>(input_text_, begin);
    if (end + 1 >= input_text_.size() || input_text_[end] != '"' || input_text_[end + 1] != ':')
      return read_key_slowly(key);
    key = input_text_.substr(begin, end - begin);
    position_ = end + 2;
  }
  void read_key_slowly(std::string_view& key);   // reads any key, such as one with escapes
  void read_escape(std::string& out);
  uint32_t read_hex4(size_t at);
  void expect_literal(std::string_view word);
  [[noreturn]] void throw_wrong_type(const char* expected);

  std::string_view input_text_, file_name_;
  uint32_t first_line_;
  size_t position_ = 0;
  uint32_t nesting_depth_ = 0;
  std::string key_buffer_;
};

}  // namespace tgc
