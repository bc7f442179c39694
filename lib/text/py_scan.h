// Base class of readers of Python-like texts. Errors have line and column.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "lib/dtype/const.h"
#include "lib/support/deep_stack.h"
#include "lib/support/limits.h"
#include "lib/support/pytext.h"
#include "lib/support/result.h"

namespace tgc {

// Limits the nesting of tuples and dataclasses in args, because much code recurses over args.
inline constexpr uint16_t kMaxArgDepth = 1000;

class PyScanner {
 public:
  PyScanner(std::string_view text, std::string_view file)
      : padded_text_(text_with_padding(text)), input_text_(padded_text_.data(), text.size()), file_name_(file) {}
  PyScanner(const PyScanner&) = delete;
  PyScanner& operator=(const PyScanner&) = delete;

 private:
  // Returns the text, followed by kPaddingBytes NULs, so that peek_char(k) needs no bounds check. No token begins with
  // a NUL.
  static std::string text_with_padding(std::string_view text) {
    std::string out;
    out.reserve(text.size() + kPaddingBytes);
    out.append(text);
    out.append(kPaddingBytes, '\0');
    return out;
  }
  static constexpr size_t kPaddingBytes = 8;
  const std::string padded_text_;

 protected:
  static bool is_name_start(char c) { return kCharTraits[uint8_t(c)] & kNameStart; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_name_char(char c) { return kCharTraits[uint8_t(c)] & kName; }
  static bool is_operator(char c) { return kCharTraits[uint8_t(c)] & kOperator; }

  [[noreturn]] void throw_error(size_t at, std::string message, std::string expected = {}) const;
  std::string found_text(size_t at) const;
  std::string position_text(size_t at) const;
  // Adds the position of byte `at` to a Failure of `body` without a position.
  template <class Body>
  void run_at_position(size_t at, Body&& body) {
    try {
      body();
    } catch (Failure& failure) {
      if (failure.diag().line) throw;
      throw_error(at, failure.diag().message, failure.diag().expected);
    }
  }

  // `at` may lie in the padding, where the operator[] of a view may abort.
  char char_at(size_t at) const { return input_text_.data()[at]; }
  char peek_char() const { return char_at(position_); }
  char peek_char(size_t k) const { return char_at(position_ + k); }  // requires k <= kPaddingBytes
  bool is_at_end() const { return position_ >= input_text_.size(); }
  // Also skips comments, line ends after a backslash, and, inside brackets, all line ends.
  void skip_blanks_in_line() {
    while (peek_char() == ' ') position_++;
    if (!(kCharTraits[uint8_t(peek_char())] & kSkipped) || (peek_char() == '\n' && !open_brackets_)) return;
    skip_text_slowly();
  }
  void skip_lines();        // also skips line ends outside brackets
  bool accept_char(char c) {  // if `c` comes next, reads it and returns true
    skip_blanks_in_line();
    if (peek_char() != c) return false;
    position_++;
    return true;
  }
  void expect_char(char c, const char* what) {
    skip_blanks_in_line();
    if (peek_char() != c) throw_error(position_, "found " + found_text(position_), std::string("'") + c + "' " + what);
    position_++;
  }
  std::string_view read_identifier(const char* what) {
    skip_blanks_in_line();
    size_t begin = position_;
    if (!is_name_start(peek_char())) throw_error(position_, "found " + found_text(position_), what);
    position_ = name_end(position_ + 1);
    return input_text_.substr(begin, position_ - begin);
  }

  size_t name_end(size_t at) const {
    while (is_name_char(char_at(at))) at++;
    return at;
  }

  Const number();                                          // call it at the number's first character
  std::string string(PyLiteral literal = PyLiteral::Str);  // call it at the opening quote

  // A level of nesting, until it is destroyed. The constructor throws Failure beyond Limit::Nesting.
  class NestingLevel {
   public:
    explicit NestingLevel(PyScanner& scan) : scan_(scan) {
      if (++scan_.nesting_depth_ > scan_.max_nesting_depth_) scan_.throw_too_deep();
    }
    ~NestingLevel() { scan_.nesting_depth_--; }
    NestingLevel(const NestingLevel&) = delete;

   private:
    PyScanner& scan_;
  };
  [[noreturn]] void throw_too_deep() const;
  // Returns read(). Continues on another stack if the current one is nearly full.
  template <class Read>
  auto read_with_nesting(Read&& read) {
    return nesting_depth_ % kStackCheckLevels ? read() : call_with_stack(read);
  }

  std::string_view input_text_, file_name_;
  size_t position_ = 0;
  int open_brackets_ = 0, nesting_depth_ = 0;
  const int64_t max_nesting_depth_ = limit_value(Limit::Nesting);

 private:
  enum Trait : uint8_t { kNameStart = 1, kName = 2, kOperator = 4, kSkipped = 8 };
  static constexpr std::array<uint8_t, 256> kCharTraits = [] {
    std::array<uint8_t, 256> traits{};
    for (int c = 'a'; c <= 'z'; c++) traits[size_t(c)] = traits[size_t(c - 'a' + 'A')] = kNameStart | kName;
    traits['_'] = kNameStart | kName;
    for (int c = '0'; c <= '9'; c++) traits[size_t(c)] = kName;
    for (char c : std::string_view("<>!|^&+-*/%")) traits[size_t(c)] = kOperator;
    for (char c : std::string_view(" \t\r\f\n\\#")) traits[size_t(c)] = kSkipped;
    return traits;
  }();
  void skip_text_slowly();
};

}  // namespace tgc
