#include "lib/support/json_writer.h"

#include <cmath>
#include <cstdio>

#include "lib/support/plain_run.h"
#include "lib/support/pytext.h"

namespace tgc {

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  size_t written = 0, i = find_special_byte<'"', '\\'>(text, 0);
  const bool valid = i == text.size() || is_valid_utf8(text.substr(i));
  for (; i < text.size(); i = find_special_byte<'"', '\\'>(text, i + 1)) {
    auto c = uint8_t(text[i]);
    if (c >= 0x80 && valid) continue;
    out.append(text, written, i - written);
    written = i + 1;
    if (c == '"' || c == '\\') out += '\\', out += char(c);
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c < 0x20) out.append("\\u00").append({kHex[c >> 4], kHex[c & 15]});
    else out += "\xEF\xBF\xBD";
  }
  out.append(text, written) += '"';
}

void JsonWriter::begin_value() {
  if (!is_first_value_) output_ += ',';
  if (starts_new_line_) output_ += '\n';
  is_first_value_ = starts_new_line_ = false;
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  output_ += ':';
  is_first_value_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  begin_value();
  append_json_string(output_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  std::string text = py_repr(number);
  return std::isfinite(number) ? raw_json(text) : value(text);
}

JsonWriter& JsonWriter::number(double number, const char* format) {
  if (!std::isfinite(number)) return value(number);
  char text[352];
  std::snprintf(text, sizeof text, format, number);
  return raw_json(text);
}

JsonWriter& JsonWriter::raw_json(std::string_view json) {
  begin_value();
  output_ += json;
  return *this;
}

void JsonWriter::open_bracket(char bracket) {
  begin_value();
  output_ += bracket;
  is_first_value_ = true;
}

JsonWriter& JsonWriter::close_bracket(char bracket) {
  if (starts_new_line_) output_ += '\n';
  output_ += bracket;
  is_first_value_ = starts_new_line_ = false;
  return *this;
}

}  // namespace tgc
