// ByteWriter and ByteReader: serialize messages between a process and its worker as 64-bit numbers, texts with their
// length, and raw bytes. The reader does not trust its input: a truncated message throws Failure.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

class ByteWriter {
 public:
  ByteWriter& number(uint64_t n) { return raw(&n, sizeof n); }
  ByteWriter& text(std::string_view text) { return number(text.size()).raw(text.data(), text.size()); }
  ByteWriter& raw(const void* data, size_t bytes) {
    if (bytes) out_.append(static_cast<const char*>(data), bytes);
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  uint64_t number() {
    uint64_t n;
    raw(&n, sizeof n);
    return n;
  }
  std::string text() { return std::string(take(number())); }
  void raw(void* to, size_t bytes) {
    std::string_view from = take(bytes);
    if (bytes) std::memcpy(to, from.data(), bytes);
  }

 private:
  std::string_view take(uint64_t bytes) {
    if (bytes > rest_.size()) throw Failure("a worker process sent a truncated message");
    std::string_view out = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return out;
  }

  std::string_view rest_;
};

}  // namespace tgc
