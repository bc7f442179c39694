// Where renderers write: texts that stay in their place, made of pieces that are mostly a few characters long.
#pragma once
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace tgc {

inline constexpr size_t kTextChunk = 32;

// Texts, one after another, of which the last is being written. They stay where they are until this goes. Behind each
// kTextChunk bytes can be read, and most pieces are short: a whole chunk is moved then, however few bytes are wanted.
class TextPieces {
 public:
  TextPieces() { grow(0); }

  // The text that is being written; `keep` ends it, `drop` forgets it.
  std::string_view view() const { return {begin_, size()}; }
  size_t size() const { return size_t(at_ - begin_); }
  std::string_view keep() {
    std::string_view text = view();
    begin_ = at_;
    return text;
  }
  void drop(size_t from = 0) { at_ = begin_ + from; }

  TextPieces& operator+=(char c) {
    need(1);
    *at_++ = c;
    return *this;
  }
  TextPieces& operator+=(std::string_view text) { return append(text); }
  TextPieces& append(std::string_view text) {
    need(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
    return *this;
  }
  TextPieces& append(size_t n, char c) {
    need(n);
    std::memset(at_, c, n);
    at_ += n;
    return *this;
  }
  void append_number(uint32_t n) {
    need(10);
    if (n < 10) *at_++ = char('0' + n);
    else at_ = std::to_chars(at_, at_ + 10, n).ptr;
  }
  // A text kept here, or another one behind which kTextChunk bytes can be read.
  void append_chunks(std::string_view text) {
    need(text.size());
    std::array<char, kTextChunk> chunk;  // for the chunk may reach to where it goes
    std::memcpy(&chunk, text.data(), kTextChunk);
    std::memcpy(at_, &chunk, kTextChunk);
    if (text.size() > kTextChunk) std::memcpy(at_ + kTextChunk, text.data() + kTextChunk, text.size() - kTextChunk);
    at_ += text.size();
  }

 private:
  void need(size_t n) {
    if (size_t(end_ - at_) < n) grow(n);
  }
  void grow(size_t n);

  std::vector<std::unique_ptr<char[]>> rooms_;
  char *begin_ = nullptr, *at_ = nullptr, *end_ = nullptr;  // of the last text, and of the room before its last chunk
};

}  // namespace tgc
