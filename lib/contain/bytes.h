// ByteWriter and ByteReader serialize 64-bit numbers, texts with their length, and raw bytes. ByteReader does not trust
// its input: it throws Failure for truncated data.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "lib/support/result.h"

namespace tgc {

class ByteWriter {
 public:
  ByteWriter& write_number(uint64_t n) { return write_bytes(&n, sizeof n); }
  ByteWriter& write_text(std::string_view text) {
    return write_number(text.size()).write_bytes(text.data(), text.size());
  }
  ByteWriter& write_bytes(const void* data, size_t bytes) {
    if (bytes) bytes_.append(static_cast<const char*>(data), bytes);
    return *this;
  }
  std::string take_bytes() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : unread_bytes_(bytes) {}

  bool empty() const { return unread_bytes_.empty(); }
  uint64_t read_number() {
    uint64_t n;
    read_bytes(&n, sizeof n);
    return n;
  }
  std::string read_text() { return std::string(take_bytes(read_number())); }
  void read_bytes(void* to, size_t bytes) {
    std::string_view from = take_bytes(bytes);
    if (bytes) std::memcpy(to, from.data(), bytes);
  }

 private:
  std::string_view take_bytes(uint64_t bytes) {
    if (bytes > unread_bytes_.size()) throw Failure("a worker process sent a truncated message");
    std::string_view out = unread_bytes_.substr(0, bytes);
    unread_bytes_.remove_prefix(bytes);
    return out;
  }

  std::string_view unread_bytes_;
};

}  // namespace tgc
