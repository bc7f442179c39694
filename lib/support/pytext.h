// Text as Python prints and parses it, ANSI colors of tinygrad's helpers.py, and UTF-8.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tgc {

// Returns Python's repr(v): the shortest digits that parse back to v; "inf", "-inf" or "nan".
std::string py_repr(double v);
void append_py_repr(std::string& out, double v);

// Returns Python's repr of the str that the UTF-8 text `s` encodes. Bytes that are not UTF-8 are written as \xNN. The
// choice of escaped code points is approximate; for example, most unassigned ones are not escaped.
std::string py_repr(std::string_view s);
void append_py_repr(std::string& out, std::string_view s);

enum class PyLiteral : uint8_t { Str, Bytes };
// Returns the value of a Python string literal, in UTF-8, or of a bytes literal. `body` is the literal without quotes.
// Does not know \N{...}; an unknown escape is not changed. Returns nullopt if an escape is malformed or is a surrogate.
std::optional<std::string> py_unescape(std::string_view body, PyLiteral literal = PyLiteral::Str);

// Parses a float literal such as "1.5", "1e-05", "inf" or "nan". Returns nullopt for other text.
std::optional<double> parse_py_float(std::string_view text);

// Returns "\x1b[NNm" + text + "\x1b[0m" (helpers.py:colored), or `text` if the color is unknown. A color name in upper
// case means the bright color. `color` must not be empty.
std::string colored(std::string_view text, std::string_view color);
std::string ansistrip(std::string_view text);  // without color sequences and "\x1b[K"
size_t ansilen(std::string_view text);         // the number of code points of ansistrip(text)

// Removes color sequences, then replaces every character except ASCII letters, digits and underscores by its hex code
// (helpers.py:to_function_name).
std::string to_function_name(std::string_view name);

// Each invalid byte counts as one code point.
size_t utf8_length(std::string_view text);
// Decodes the code point at byte `i` and moves `i` behind it. At an invalid byte, returns -1 and moves `i` by one byte.
int32_t decode_utf8(std::string_view text, size_t& i);
// Returns the index of the first byte that is not UTF-8; npos if there is none.
size_t utf8_error(std::string_view text);
inline bool is_valid_utf8(std::string_view text) { return utf8_error(text) == text.npos; }
void append_utf8(std::string& out, uint32_t code_point);

}  // namespace tgc
