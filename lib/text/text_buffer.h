// A text for writers that append millions of short pieces: appending is inline, with one capacity check.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace tgc {

class TextBuffer {
 public:
  size_t size() const { return size_t(end_of_text_ - text_storage_.get()); }
  std::string_view view() const { return {text_storage_.get(), size()}; }
  std::string_view view(size_t from, size_t n) const { return {text_storage_.get() + from, n}; }
  std::string str() const { return std::string(view()); }

  void put(char c) {
    reserve(1);
    *end_of_text_++ = c;
  }
  void put(std::string_view text) {
    reserve(text.size());
    std::memcpy(end_of_text_, text.data(), text.size());
    end_of_text_ += text.size();
  }
  // Appends `n` bytes of `other`, which may be this buffer, from offset `from`.
  void put(const TextBuffer& other, size_t from, size_t n) {
    reserve(n);
    const char* piece = other.text_storage_.get() + from;
    if (n <= sizeof(Chunk)) {
      Chunk chunk;
      std::memcpy(&chunk, piece, sizeof chunk);
      std::memcpy(end_of_text_, &chunk, sizeof chunk);
    } else {
      std::memcpy(end_of_text_, piece, n);
    }
    end_of_text_ += n;
  }
  void put_integer(int64_t v) {
    reserve(24);
    if (v >= 0 && v < 10) *end_of_text_++ = char('0' + v);
    else end_of_text_ = std::to_chars(end_of_text_, end_of_text_ + 24, v).ptr;
  }
  void clear() { end_of_text_ = text_storage_.get(); }
  // Removes the byte at `from` and the last byte, such as a pair of parentheses.
  void drop_outer_bytes(size_t from) {
    char* begin = text_storage_.get() + from;
    end_of_text_ -= 2;
    std::memmove(begin, begin + 1, size_t(end_of_text_ - begin));
  }

 private:
  // the buffer has capacity for one more Chunk after end_of_storage_
  using Chunk = std::array<uint64_t, 2>;

  void reserve(size_t n) {
    if (size_t(end_of_storage_ - end_of_text_) < n) grow(n);
  }
  void grow(size_t n) {
    size_t used = size(), room = std::max<size_t>(2 * (used + n), 1 << 12);
    std::unique_ptr<char[]> bigger(new char[room + sizeof(Chunk)]);
    if (used) std::memcpy(bigger.get(), text_storage_.get(), used);
    text_storage_ = std::move(bigger);
    end_of_text_ = text_storage_.get() + used;
    end_of_storage_ = text_storage_.get() + room;
  }

  std::unique_ptr<char[]> text_storage_;
  char *end_of_text_ = nullptr, *end_of_storage_ = nullptr;
};

}  // namespace tgc
