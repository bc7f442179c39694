#include "lib/support/pytext.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "lib/support/plain_run.h"

namespace tgc {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void append_hex(std::string& out, uint32_t value, int digits) {
  for (int i = digits; i-- > 0;) out += kHex[value >> (4 * i) & 15];
}

// Returns whether Python's repr prints the code point unescaped. Above U+02FF, this is approximate: all code points
// outside of kNot count as printable.
bool is_printable(int32_t c) {
  if (c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD) return false;
  if (c < 0x300) return true;
  static constexpr std::pair<int32_t, int32_t> kNot[] = {
      {0x600, 0x605},   {0x61C, 0x61C},   {0x6DD, 0x6DD},   {0x70F, 0x70F},     {0x1680, 0x1680},   {0x180E, 0x180E},
      {0x2000, 0x200F}, {0x2028, 0x202F}, {0x205F, 0x206F}, {0x3000, 0x3000},   {0xD800, 0xF8FF},   {0xFEFF, 0xFEFF},
      {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0x1D173, 0x1D17A}, {0xE0000, 0x10FFFF}};
  for (auto [first, last] : kNot)
    if (c >= first && c <= last) return false;
  return true;
}

char* put_utf8(char* to, uint32_t c) {
  auto rest = [](uint32_t bits) { return char(0x80 | (bits & 0x3F)); };
  if (c < 0x80) return *to++ = char(c), to;
  if (c < 0x800) return *to++ = char(0xC0 | c >> 6), *to++ = rest(c), to;
  if (c < 0x10000) return *to++ = char(0xE0 | c >> 12), *to++ = rest(c >> 6), *to++ = rest(c), to;
  return *to++ = char(0xF0 | c >> 18), *to++ = rest(c >> 12), *to++ = rest(c >> 6), *to++ = rest(c), to;
}

constexpr auto kHexValue = [] {
  std::array<int8_t, 256> out{};
  out.fill(-1);
  for (int i = 0; i < 10; i++) out[size_t('0' + i)] = int8_t(i);
  for (int i = 0; i < 6; i++) out[size_t('a' + i)] = out[size_t('A' + i)] = int8_t(10 + i);
  return out;
}();

template <int kDigits>
uint32_t hex_digits(const char* at, const char* end) {
  if (end - at < kDigits) return UINT32_MAX;
  int wrong = 0;
  uint32_t value = 0;
  for (int i = 0; i < kDigits; i++) {
    const int digit = kHexValue[uint8_t(at[i])];
    wrong |= digit, value = value << 4 | uint32_t(digit);
  }
  return wrong < 0 ? UINT32_MAX : value;
}

}  // namespace

int32_t decode_utf8(std::string_view s, size_t& i) {
  uint8_t b = uint8_t(s[i]);
  int length = b < 0x80 ? 1 : b >= 0xC2 && b < 0xE0 ? 2 : b >= 0xE0 && b < 0xF0 ? 3 : b >= 0xF0 && b < 0xF5 ? 4 : 0;
  if (length == 0 || i + length > s.size()) return i++, -1;
  int32_t c = length == 1 ? b : b & (0x7F >> length);
  for (int k = 1; k < length; k++) {
    if ((uint8_t(s[i + k]) & 0xC0) != 0x80) return i++, -1;
    c = c << 6 | (s[i + k] & 0x3F);
  }
  bool overlong = (length == 3 && c < 0x800) || (length == 4 && c < 0x10000);
  if (overlong || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return i++, -1;
  i += length;
  return c;
}

void append_utf8(std::string& out, uint32_t c) {
  char bytes[4];
  out.append(bytes, put_utf8(bytes, c));
}

void append_py_repr(std::string& out, double v) {
  if (std::isnan(v)) return void(out += "nan");
  if (std::isinf(v)) return void(out += v < 0 ? "-inf" : "inf");
  // Get the shortest digits as d.ddde[+-]xx, then format them as Python does: positional if -4 <= exponent < 16.
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::scientific).ptr;
  const char* p = buffer;
  if (*p == '-') out += *p++;
  const char* e = static_cast<const char*>(std::memchr(p, 'e', end - p));
  int exponent = 0;
  std::from_chars(e[1] == '+' ? e + 2 : e + 1, end, exponent);
  char digits[24];
  int n = 0;
  for (const char* d = p; d < e; d++)
    if (*d != '.') digits[n++] = *d;
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (n > 1) out.append(".").append(digits + 1, n - 1);
    out += exponent < 0 ? "e-" : "e+";
    int magnitude = std::abs(exponent);
    if (magnitude < 10) out += '0';
    out += std::to_string(magnitude);
  } else if (exponent < 0) {
    out.append("0.").append(-exponent - 1, '0').append(digits, n);
  } else if (n <= exponent + 1) {
    out.append(digits, n).append(exponent + 1 - n, '0').append(".0");
  } else {
    out.append(digits, exponent + 1).append(".").append(digits + exponent + 1, n - exponent - 1);
  }
}

std::string py_repr(double v) {
  std::string out;
  append_py_repr(out, v);
  return out;
}

std::string py_repr(std::string_view s) {
  std::string out;
  append_py_repr(out, s);
  return out;
}

void append_py_repr(std::string& out, std::string_view s) {
  char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  out += quote;
  for (size_t i = 0; i < s.size();) {
    const size_t start = find_special_byte<'\'', '"', '\\', '\x7f'>(s, i);
    out.append(s, i, start - i);
    if (i = start; i == s.size()) break;
    int32_t c = decode_utf8(s, i);
    if (c == quote || c == '\\') out += {'\\', char(c)};
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else if (c < 0) out += "\\x", append_hex(out, uint8_t(s[start]), 2);
    else if (is_printable(c)) out.append(s.substr(start, i - start));
    else if (c < 0x100) out += "\\x", append_hex(out, c, 2);
    else if (c < 0x10000) out += "\\u", append_hex(out, c, 4);
    else out += "\\U", append_hex(out, c, 8);
  }
  out += quote;
}

std::optional<std::string> py_unescape(std::string_view body, PyLiteral literal) {
  std::string out(body.size(), '\0');  // an escape is never shorter than its value
  char* to = out.data();
  const char *at = body.data(), *const end = at + body.size();
  const bool bytes = literal == PyLiteral::Bytes;
  auto put = [&](uint32_t value) { bytes ? void(*to++ = char(value)) : void(to = put_utf8(to, value)); };
  while (at < end) {
    if (*at != '\\') {
      *to++ = *at++;
      continue;
    }
    if (++at == end) return std::nullopt;
    static constexpr std::string_view kFrom = "\\'\"ntrabfv", kTo = "\\'\"\n\t\r\a\b\f\v";
    const char c = *at++;
    if (c == 'x' || (!bytes && (c == 'u' || c == 'U'))) {
      const uint32_t value = c == 'x'   ? hex_digits<2>(at, end)
                             : c == 'u' ? hex_digits<4>(at, end)
                                        : hex_digits<8>(at, end);
      if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return std::nullopt;
      at += c == 'x' ? 2 : c == 'u' ? 4 : 8;
      put(value);
    } else if (c >= '0' && c <= '7') {
      uint32_t value = uint32_t(c - '0');
      for (int k = 1; k < 3 && at < end && *at >= '0' && *at <= '7'; k++) value = value * 8 + uint32_t(*at++ - '0');
      put(value);
    } else if (size_t known = kFrom.find(c); known != kFrom.npos) {
      *to++ = kTo[known];
    } else if (c != '\n') {  // a backslash before a line end joins two lines
      *to++ = '\\', *to++ = c;
    }
  }
  out.resize(size_t(to - out.data()));
  return out;
}

std::optional<double> parse_py_float(std::string_view text) {
  if (text.empty() || text[0] == '+') return std::nullopt;
  double v = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (end != text.data() + text.size()) return std::nullopt;
  // out of range, strtod returns 0 or infinity, as Python's float() does
  if (error == std::errc::result_out_of_range) return std::strtod(std::string(text).c_str(), nullptr);
  return error == std::errc() ? std::optional(v) : std::nullopt;
}

std::string colored(std::string_view text, std::string_view color) {
  static constexpr std::string_view kColors[] = {"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"};
  bool bright = color[0] < 'a';
  for (int i = 0; i < 8; i++)
    if ((color[0] | 32) == kColors[i][0] && color.size() == kColors[i].size() && (color[2] | 32) == kColors[i][2])
      return "\x1b[" + std::to_string(30 + 60 * bright + i) + "m" + std::string(text) + "\x1b[0m";
  return std::string(text);
}

std::string ansistrip(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '\x1b' && i + 1 < text.size() && text[i + 1] == '[') {
      if (i + 2 < text.size() && text[i + 2] == 'K') {
        i += 2;
        continue;
      }
      size_t end = text.find('m', i + 2), line = text.find('\n', i + 2);
      if (end != text.npos && end < line) {
        i = end;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

size_t utf8_length(std::string_view text) {
  size_t n = 0;
  for (size_t i = 0; i < text.size(); n++) decode_utf8(text, i);
  return n;
}

size_t utf8_error(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    uint64_t eight;
    if (i + 8 <= text.size() && (std::memcpy(&eight, text.data() + i, 8), (eight & 0x8080808080808080) == 0)) {
      i += 8;
      continue;
    }
    size_t at = i;
    if (uint8_t(text[i]) < 0x80) i++;
    else if (decode_utf8(text, i) < 0) return at;
  }
  return text.npos;
}

size_t ansilen(std::string_view text) { return utf8_length(ansistrip(text)); }

std::string to_function_name(std::string_view name) {
  std::string plain = ansistrip(name), out;
  for (size_t i = 0; i < plain.size();) {
    size_t start = i;
    int32_t c = decode_utf8(plain, i);
    bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (word) out += char(c);
    else {
      uint32_t code = c < 0 ? uint8_t(plain[start]) : uint32_t(c);
      char hex[12];
      std::snprintf(hex, sizeof hex, "%02X", code);
      out += hex;
    }
  }
  return out;
}

}  // namespace tgc
