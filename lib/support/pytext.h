// Text as Python prints and reads it: repr of floats and strings, string literals,
// ANSI colours as tinygrad's helpers.py uses them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tgc {

// repr(v): the shortest text that reads back as v; "inf", "-inf", "nan".
std::string py_repr(double v);
void append_py_repr(std::string& out, double v);

// repr(s) of a str given as UTF-8. Bytes that are not UTF-8 come out as \xNN.
std::string py_repr(std::string_view s);
void append_py_repr(std::string& out, std::string_view s);

// The value of a Python string literal without its quotes (escapes \\ \' \" \n \t \r \a \b \f \v \0 \ooo \xNN \uNNNN
// \UNNNNNNNN), as UTF-8; or of a bytes literal, which has no \u and no \U. nullopt when an escape is malformed.
enum class PyLiteral : uint8_t { Str, Bytes };
std::optional<std::string> py_unescape(std::string_view body, PyLiteral literal = PyLiteral::Str);

// float(text) for a literal such as "1.5", "1e-05", "inf", "nan"; nullopt when it is none.
std::optional<double> parse_py_float(std::string_view text);

// "\x1b[NNm" + text + "\x1b[0m", as tinygrad's colored(): lower case is the normal colour, upper case the bright one.
std::string colored(std::string_view text, std::string_view color);
std::string ansistrip(std::string_view text);  // without escape sequences
size_t ansilen(std::string_view text);         // its number of code points

// tinygrad's to_function_name: letters, digits and underscores kept, every other character as its hex code.
std::string to_function_name(std::string_view name);

// A string cut into its code points, decoded leniently: an invalid byte is itself.
size_t utf8_length(std::string_view text);
// Where the first byte is that is not UTF-8; npos when all are.
size_t utf8_error(std::string_view text);
inline bool is_valid_utf8(std::string_view text) { return utf8_error(text) == text.npos; }
void append_utf8(std::string& out, uint32_t code_point);

}  // namespace tgc
