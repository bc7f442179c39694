#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tgc {

using Sha256 = std::array<uint8_t, 32>;

Sha256 sha256(std::string_view bytes);
std::string sha256_hex(const Sha256& digest);

inline std::string sha256_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (unsigned char c : bytes) out += kDigits[c >> 4], out += kDigits[c & 15];
  return out;
}

// Returns the bytes that `text` encodes; nullopt unless it consists of pairs of hexadecimal digits in lower case.
inline std::optional<std::string> bytes_from_hex(std::string_view text) {
  auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  std::string out(text.size() / 2, '\0');
  for (size_t i = 0; i < text.size(); i += 2) {
    int high = digit(text[i]), low = i + 1 < text.size() ? digit(text[i + 1]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    out[i / 2] = char(high << 4 | low);
  }
  return out;
}

}  // namespace tgc
