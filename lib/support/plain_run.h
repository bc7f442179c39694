#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tgc {

// Returns the index of the first byte at or after `at` that is one of kStops, below ' ', or not ASCII; the size of
// `text` if there is none.
template <char... kStops>
size_t find_special_byte(std::string_view text, size_t at) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  // Sets the high bit of each zero byte, and perhaps of higher bytes. Only the lowest set bit is used.
  auto zero_byte_bits = [](uint64_t v) { return (v - kOnes) & ~v; };
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t v;
    std::memcpy(&v, text.data() + at, 8);
    const uint64_t stop_bits = (zero_byte_bits(v ^ (kOnes * uint64_t(kStops))) | ...), control_bits = v - kOnes * ' ';
    const uint64_t first_stop_bits = (stop_bits | control_bits | v) & kHigh;
    if (first_stop_bits) return at + size_t(std::countr_zero(first_stop_bits)) / 8;
  }
  auto is_plain = [](char c) { return int8_t(c) >= ' ' && ((c != kStops) && ...); };  // a non-ASCII byte is negative
  while (at < text.size() && is_plain(text[at])) at++;
  return at;
}

}  // namespace tgc
