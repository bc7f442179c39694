// TextPieces: the buffer that renderers write to. Appending short texts is fast.
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

// A sequence of texts. The last text is being written; finished texts never move while this object lives. At least
// kTextChunk bytes are readable from the start of each text, so that append_chunks can copy a short text as one chunk
// of fixed size.
class TextPieces {
 public:
  TextPieces() { grow(0); }

  // view() returns the unfinished text. keep() finishes this text and returns it. drop() removes its end from offset
  // `from` on.
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
  // Appends a text from whose start at least kTextChunk bytes are readable, such as one returned by `keep`.
  void append_chunks(std::string_view text) {
    need(text.size());
    std::array<char, kTextChunk> chunk;  // a copy, because `text` may overlap its destination
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

  std::vector<std::unique_ptr<char[]>> blocks_;
  // the unfinished text is begin_ to at_; end_ is kTextChunk bytes before the end of its memory block
  char *begin_ = nullptr, *at_ = nullptr, *end_ = nullptr;
};

}  // namespace tgc
