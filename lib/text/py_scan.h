// The characters of Python text: blanks, comments, names, numbers, strings; and failures with line and column. What the
// readers of Python-like texts are built on.
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

// Tuples and dataclasses of args in each other: they are small things, and much that works on them is recursive.
inline constexpr uint16_t kMaxArgDepth = 1000;

class PyScan {
 public:
  PyScan(std::string_view text, std::string_view file)
      : padded_(with_padding(text)), text_(padded_.data(), text.size()), file_(file) {}
  PyScan(const PyScan&) = delete;
  PyScan& operator=(const PyScan&) = delete;

 private:
  // Looking a few characters ahead needs no check: the text is copied and NULs put behind it, which nothing goes on
  // with.
  static std::string with_padding(std::string_view text) {
    std::string out;
    out.reserve(text.size() + kPadding);
    out.append(text);
    out.append(kPadding, '\0');
    return out;
  }
  static constexpr size_t kPadding = 8;
  const std::string padded_;

 protected:
  static bool is_name_start(char c) { return kTraits[uint8_t(c)] & kNameStart; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_name(char c) { return kTraits[uint8_t(c)] & kName; }
  static bool is_operator(char c) { return kTraits[uint8_t(c)] & kOperator; }  // the first of an infix operator

  // ---- failures
  [[noreturn]] void fail(size_t at, std::string message, std::string expected = {}) const;
  std::string found(size_t at) const;   // "'x'", "the end of the input"
  std::string where(size_t at) const;   // "line 3, column 7"
  // Runs something that may throw a Failure without a position, and gives it this one.
  template <class Body>
  void guarded(size_t at, Body&& body) {
    try {
      body();
    } catch (Failure& failure) {
      if (failure.diag().line) throw;
      fail(at, failure.diag().message, failure.diag().expected);
    }
  }

  // ---- characters
  char peek() const { return text_[pos_]; }
  char peek(size_t k) const { return text_[pos_ + k]; }  // k at most kPadding
  bool at_end() const { return pos_ >= text_.size(); }
  // Blanks and comments; inside brackets line ends too.
  void skip() {
    while (peek() == ' ') pos_++;
    if (!(kTraits[uint8_t(peek())] & kSkipped) || (peek() == '\n' && !brackets_)) return;  // the quick way out
    skip_slowly();
  }
  void skip_lines();                    // line ends too, wherever
  bool take(char c) {                   // c, if it comes next
    skip();
    if (peek() != c) return false;
    pos_++;
    return true;
  }
  void expect(char c, const char* what) {
    skip();
    if (peek() != c) fail(pos_, "found " + found(pos_), std::string("'") + c + "' " + what);
    pos_++;
  }
  std::string_view identifier(const char* what) {
    skip();
    size_t begin = pos_;
    if (!is_name_start(peek())) fail(pos_, "found " + found(pos_), what);
    pos_ = name_end(pos_ + 1);
    return text_.substr(begin, pos_ - begin);
  }

  // The first byte from `at` that no name goes on with.
  size_t name_end(size_t at) const {
    while (is_name(text_[at])) at++;
    return at;
  }

  // ---- literals
  Const number();                       // of digits
  std::string string(PyLiteral literal = PyLiteral::Str);  // at its first quote

  // Counts a level of nesting for as long as it lives; too many are a failure.
  class Nested {
   public:
    explicit Nested(PyScan& scan) : scan_(scan) {
      if (++scan_.depth_ > scan_.most_depth_) scan_.too_deep();
    }
    ~Nested() { scan_.depth_--; }
    Nested(const Nested&) = delete;

   private:
    PyScan& scan_;
  };
  [[noreturn]] void too_deep() const;
  // What `read` returns, which reads what is nested one level deeper.
  template <class Read>
  auto deeper(Read&& read) {
    return depth_ % kStackCheck ? read() : with_stack(read);
  }

  std::string_view text_, file_;
  size_t pos_ = 0;
  int brackets_ = 0, depth_ = 0;
  const int64_t most_depth_ = limit(Limit::Nesting);

 private:
  enum Trait : uint8_t { kNameStart = 1, kName = 2, kOperator = 4, kSkipped = 8 };
  static constexpr std::array<uint8_t, 256> kTraits = [] {
    std::array<uint8_t, 256> traits{};
    for (int c = 'a'; c <= 'z'; c++) traits[size_t(c)] = traits[size_t(c - 'a' + 'A')] = kNameStart | kName;
    traits['_'] = kNameStart | kName;
    for (int c = '0'; c <= '9'; c++) traits[size_t(c)] = kName;
    for (char c : std::string_view("<>!|^&+-*/%")) traits[size_t(c)] = kOperator;
    for (char c : std::string_view(" \t\r\f\n\\#")) traits[size_t(c)] = kSkipped;
    return traits;
  }();
  void skip_slowly();
};

}  // namespace tgc
