// An output buffer for writers that append millions of short texts: appending is inline, with one capacity check.
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
  size_t size() const { return size_t(at_ - begin_.get()); }
  std::string_view view() const { return {begin_.get(), size()}; }
  std::string_view view(size_t from, size_t n) const { return {begin_.get() + from, n}; }
  std::string str() const { return std::string(view()); }

  void put(char c) {
    need(1);
    *at_++ = c;
  }
  void put(std::string_view text) {
    need(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  // Appends the `n` bytes at offset `from` of `other`, which may be this buffer. Fast path: copy 16 bytes if n <= 16.
  void put(const TextBuffer& other, size_t from, size_t n) {
    need(n);
    const char* piece = other.begin_.get() + from;
    if (n <= sizeof(Chunk)) {
      Chunk chunk;
      std::memcpy(&chunk, piece, sizeof chunk);
      std::memcpy(at_, &chunk, sizeof chunk);
    } else {
      std::memcpy(at_, piece, n);
    }
    at_ += n;
  }
  void put_int(int64_t v) {
    need(24);
    if (v >= 0 && v < 10) *at_++ = char('0' + v);
    else at_ = std::to_chars(at_, at_ + 24, v).ptr;
  }
  void clear() { at_ = begin_.get(); }
  // Removes the byte at `from` and the last byte of the buffer, such as a pair of parentheses.
  void drop_ends(size_t from) {
    char* begin = begin_.get() + from;
    at_ -= 2;
    std::memmove(begin, begin + 1, size_t(at_ - begin));
  }

 private:
  using Chunk = std::array<uint64_t, 2>;  // 16 bytes; the buffer always has capacity for one more Chunk after end_

  void need(size_t n) {
    if (size_t(end_ - at_) < n) grow(n);
  }
  void grow(size_t n) {
    size_t used = size(), room = std::max<size_t>(2 * (used + n), 1 << 12);
    std::unique_ptr<char[]> bigger(new char[room + sizeof(Chunk)]);
    if (used) std::memcpy(bigger.get(), begin_.get(), used);
    begin_ = std::move(bigger);
    at_ = begin_.get() + used;
    end_ = begin_.get() + room;
  }

  std::unique_ptr<char[]> begin_;
  char *at_ = nullptr, *end_ = nullptr;
};

}  // namespace tgc
