#include "lib/emulate/cuda/lexer.h"

#include "lib/support/result.h"

namespace tgc::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

}  // namespace

void PtxLexer::skip_blanks() {
  auto at = [&](size_t i) { return i < source_text_.size() ? source_text_[i] : '\0'; };
  while (position_ < source_text_.size()) {
    char c = source_text_[position_];
    if (c == '\n') line_number_++, position_++;
    else if (c == ' ' || c == '\t' || c == '\r' || c == '\0')
      position_++;  // a text passed to the driver may end with a zero byte
    else if (c == '/' && at(position_ + 1) == '/')
      position_ = std::min(source_text_.find('\n', position_), source_text_.size());
    else if (c == '/' && at(position_ + 1) == '*') {
      size_t end = source_text_.find("*/", position_ + 2);
      if (end == source_text_.npos)
        throw Failure(Diag{.message = "a comment does not end", .line = line_number_, .expected = "*/"});
      for (; position_ < end + 2; position_++) line_number_ += source_text_[position_] == '\n';
    } else return;
  }
}

Token PtxLexer::take_token() {
  Token taken = next_token_;
  skip_blanks();
  size_t begin = position_;
  next_token_ = {.line = line_number_};
  if (begin == source_text_.size()) return taken;
  char c = source_text_[begin];
  if (is_word_character(c)) {
    while (position_ < source_text_.size() && is_word_character(source_text_[position_])) position_++;
    next_token_.kind = is_digit(c) ? Token::Number : Token::Word;
  } else if (c == '"') {
    size_t end = source_text_.find_first_of("\"\n", begin + 1);
    if (end == source_text_.npos || source_text_[end] != '"')
      throw Failure(Diag{.message = "a string does not end", .line = line_number_});
    position_ = end + 1;
    next_token_.kind = Token::String;
  } else if (c > ' ' && c < 127) {
    position_++;
    next_token_.kind = Token::Punctuation;
  } else {
    throw Failure(Diag{.message = "byte " + std::to_string((unsigned char)c) + " is not PTX", .line = line_number_});
  }
  next_token_.text = source_text_.substr(begin, position_ - begin);
  if (next_token_.kind == Token::String) next_token_.text = next_token_.text.substr(1, next_token_.text.size() - 2);
  return taken;
}

}  // namespace tgc::ptx
