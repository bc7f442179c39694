#pragma once
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace tgc {

// Returns "N NOUN", with an "s" appended to the noun unless n is 1.
inline std::string count_text(uint64_t n, std::string_view noun) {
  return std::to_string(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

// Returns the text that printf would print, cut to 511 bytes.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Parses a number as std::from_chars does. Returns nullopt unless all of `text` is a number that fits Number.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number n{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(n) : std::nullopt;
}

}  // namespace tgc
