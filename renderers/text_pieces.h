#pragma once
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace tgc {

inline constexpr size_t kTextChunkBytes = 32;

// A sequence of texts, the last of which is being written. Finished texts never move while this object lives. At least
// kTextChunkBytes bytes are readable from the start of each text.
class TextPieceBuffer {
 public:
  TextPieceBuffer() { grow(0); }

  // view() returns the unfinished text. finish_text() finishes this text and returns it. drop_text() removes the end of
  // the unfinished text from offset `from` on.
  std::string_view view() const { return {text_begin_, size()}; }
  size_t size() const { return size_t(end_of_text_ - text_begin_); }
  std::string_view finish_text() {
    std::string_view text = view();
    text_begin_ = end_of_text_;
    return text;
  }
  void drop_text(size_t from = 0) { end_of_text_ = text_begin_ + from; }

  TextPieceBuffer& operator+=(char c) {
    reserve(1);
    *end_of_text_++ = c;
    return *this;
  }
  TextPieceBuffer& operator+=(std::string_view text) { return append(text); }
  TextPieceBuffer& append(std::string_view text) {
    reserve(text.size());
    std::memcpy(end_of_text_, text.data(), text.size());
    end_of_text_ += text.size();
    return *this;
  }
  TextPieceBuffer& append(size_t n, char c) {
    reserve(n);
    std::memset(end_of_text_, c, n);
    end_of_text_ += n;
    return *this;
  }
  void append_number(uint32_t n) {
    reserve(10);
    if (n < 10) *end_of_text_++ = char('0' + n);
    else end_of_text_ = std::to_chars(end_of_text_, end_of_text_ + 10, n).ptr;
  }
  // Appends a text from whose start at least kTextChunkBytes bytes are readable, such as one returned by `finish_text`.
  void append_chunks(std::string_view text) {
    reserve(text.size());
    std::array<char, kTextChunkBytes> chunk;  // copy first, because `text` may overlap the destination
    std::memcpy(&chunk, text.data(), kTextChunkBytes);
    std::memcpy(end_of_text_, &chunk, kTextChunkBytes);
    if (text.size() > kTextChunkBytes)
      std::memcpy(end_of_text_ + kTextChunkBytes, text.data() + kTextChunkBytes, text.size() - kTextChunkBytes);
    end_of_text_ += text.size();
  }

 private:
  void reserve(size_t n) {
    if (size_t(block_end_ - end_of_text_) < n) grow(n);
  }
  void grow(size_t n);

  std::vector<std::unique_ptr<char[]>> text_blocks_;
  // the unfinished text is text_begin_ to end_of_text_; block_end_ is kTextChunkBytes bytes before the end of its
  // memory block
  char *text_begin_ = nullptr, *end_of_text_ = nullptr, *block_end_ = nullptr;
};

}  // namespace tgc
