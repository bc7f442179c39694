#include "lib/support/pytext.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "lib/support/plain_run.h"
#include "lib/support/testing.h"

using namespace tgc;

TEST_CASE("py_repr: floats are printed as Python does and parse back") {
  auto lines = read_test_lines("expect/float_repr.txt");
  REQUIRE(lines.size() > 900);
  for (const std::string& line : lines) {
    auto w = words_of(line);
    double v = std::bit_cast<double>(std::stoull(w[0], nullptr, 16));
    CHECK(py_repr(v) == w[1]);
    auto back = parse_py_float(w[1]);
    REQUIRE(back.has_value());
    CHECK((std::isnan(v) ? std::isnan(*back) : std::bit_cast<uint64_t>(*back) == std::bit_cast<uint64_t>(v)));
  }
  for (const char* bad : {"", "+1", "1.5x", "--1", "e5", "0x10"}) CHECK_MESSAGE(!parse_py_float(bad), bad);
  CHECK(parse_py_float("1e999") == INFINITY);
}

TEST_CASE("py_repr: strings are printed as Python does and parse back") {
  auto lines = read_test_lines("expect/str_repr.txt");
  REQUIRE(lines.size() > 100);
  for (const std::string& line : lines) {
    size_t space = line.find(' ');
    std::string text, json = line.substr(space + 1);
    if (line[0] != '-')
      for (size_t i = 0; i < space; i += 2) text += char(std::stoi(line.substr(i, 2), nullptr, 16));
    // the JSON string is ASCII: \uXXXX is a UTF-16 unit
    std::string expected;
    for (size_t i = 1; i + 1 < json.size(); i++) {
      if (json[i] != '\\') {
        expected += json[i];
      } else if (json[++i] == 'u') {
        uint32_t code = uint32_t(std::stoul(json.substr(i + 1, 4), nullptr, 16));
        i += 4;
        if (code >= 0xD800 && code < 0xDC00)
          code = 0x10000 + ((code - 0xD800) << 10) + uint32_t(std::stoul(json.substr(i + 3, 4), nullptr, 16)) - 0xDC00,
          i += 6;
        append_utf8(expected, code);
      } else {
        expected += json[i];
      }
    }
    CHECK(py_repr(text) == expected);
    CHECK(py_unescape(std::string_view(expected).substr(1, expected.size() - 2)) == text);
  }
}

TEST_CASE("py_unescape: decodes every escape and rejects malformed ones") {
  CHECK(py_unescape("\\a\\b\\f\\v\\0\\101\\x41\\u00e9\\U0001F600\\q") ==
        std::string("\a\b\f\v\0AA\xC3\xA9\xF0\x9F\x98\x80\\q", 15));
  for (const char* bad : {"\\", "\\x4", "\\xg1", "\\u12", "\\U00110000", "\\ud800"})
    CHECK_MESSAGE(!py_unescape(bad), bad);
  CHECK(py_unescape("\\x7fELF\\xff\\377\\0\\n\\'\\u00e9", PyLiteral::Bytes) ==
        std::string("\x7f" "ELF\xff\xff\0\n'\\u00e9", 15));
}

TEST_CASE("plain_end: stops at every byte that needs escaping, at every position") {
  const std::string plain = "abcdefgh ~ijklmnopq";
  for (int byte = 0; byte < 256; byte++)
    for (size_t at = 0; at < plain.size(); at++) {
      std::string text = plain;
      text[at] = char(byte), text[plain.size() - 1] = '"';
      const bool stops = byte < ' ' || byte >= 0x80 || byte == '"' || byte == '\\' || at == plain.size() - 1;
      for (size_t from : {size_t(0), at / 2, at})
        REQUIRE(find_special_byte<'"', '\\'>(text, from) == (stops ? at : plain.size() - 1));
    }
  CHECK(find_special_byte<'"'>(plain, 3) == plain.size());
  CHECK(find_special_byte<'"'>("", 0) == 0);
}

TEST_CASE("utf8_error: finds the first invalid byte") {
  CHECK(utf8_error("plain ascii, longer than eight bytes") == std::string_view::npos);
  CHECK(utf8_error("caf\xC3\xA9 \xF0\x9F\x98\x80") == std::string_view::npos);
  CHECK(utf8_error("12345678\xFF") == 8);
  CHECK(utf8_error("a\xC0\x80") == 1);          // overlong
  CHECK(utf8_error("ab\xED\xA0\x80") == 2);     // a surrogate
  CHECK(utf8_error("abc\xF4\x90\x80\x80") == 3);  // above U+10FFFF
  CHECK(utf8_error("x\xE2\x82") == 1);          // truncated
  CHECK(utf8_length("caf\xC3\xA9") == 4);
}

TEST_CASE("colored, ansistrip and to_function_name: behave as tinygrad's helpers") {
  CHECK(colored("x", "red") == "\x1b[31mx\x1b[0m");
  CHECK(colored("x", "BLUE") == "\x1b[94mx\x1b[0m");
  CHECK(colored("x", "BLACK") == "\x1b[90mx\x1b[0m");
  CHECK(ansistrip("a\x1b[31mb\x1b[0m\x1b[Kc") == "abc");
  CHECK(ansilen("\x1b[31m\xC3\xA9\x1b[0m") == 1);
  CHECK(to_function_name("r\x1b[90m_\x1b[0m4 x") == "r_420x");
}
