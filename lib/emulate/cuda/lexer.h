// Splits PTX text into tokens. Words and numbers include dots: "ld.global.f32", "%tid.x", ".reg", "1.5".
#pragma once
#include <cstdint>
#include <string_view>

namespace tgc::ptx {

struct Token {
  enum Kind : uint8_t { Word, Number, String, Punctuation, End } kind = End;
  std::string_view text;
  uint32_t line = 0;
  bool is(char c) const { return kind == Punctuation && text[0] == c; }
  bool is(std::string_view word) const { return kind == Word && text == word; }
};

class PtxLexer {
 public:
  explicit PtxLexer(std::string_view text) : source_text_(text) { take_token(); }
  const Token& peek_token() const { return next_token_; }
  Token take_token();  // returns peek_token() and advances; throws Failure for invalid text
  size_t position() const { return position_; }

 private:
  void skip_blanks();

  std::string_view source_text_;
  size_t position_ = 0;
  uint32_t line_number_ = 1;
  Token next_token_;
};

}  // namespace tgc::ptx
