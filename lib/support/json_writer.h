// JsonWriter: appends JSON to a string and writes the commas, quotes and brackets itself. The output is one line unless
// the caller asks for line breaks with start_line().
//
//   std::string out;
//   JsonWriter json(out);
//   json.object([&] {
//     json.member("records", 3).member("file", path);
//     json.key("stages").array([&] { for (auto& s : stages) json.value(s.name); });
//   });                                               // {"records":3,"file":"a.gz","stages":["linear"]}
#pragma once
#include <concepts>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>

namespace tgc {

// Appends `text` as a quoted JSON string. If `text` is not UTF-8, each byte that is not ASCII becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : output_(out) {}

  JsonWriter& key(std::string_view name);

  // Writes a top-level value, an array item, or the value of the preceding key. Writes an empty optional as null, a
  // range as an array, and a range of pairs of a name and a value as an object.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool yes) { return raw_json(yes ? "true" : "false"); }
  JsonWriter& value(std::integral auto number) { return raw_json(std::to_string(number)); }
  // Writes Python's repr of `number`; NaN and infinities as the strings "nan", "inf" and "-inf".
  JsonWriter& value(double number);
  template <class T>
  JsonWriter& value(const std::optional<T>& v) {
    return v ? value(*v) : write_null();
  }
  template <std::ranges::input_range List>
    requires(!std::convertible_to<List, std::string_view>)
  JsonWriter& value(const List& list) {
    if constexpr (requires { std::ranges::begin(list)->second; })
      return object([&] {
        for (const auto& [name, item] : list) member(name, item);
      });
    else
      return array([&] {
        for (const auto& item : list) value(item);
      });
  }
  JsonWriter& write_null() { return raw_json("null"); }
  // `format` is a printf format such as "%.3f". Writes NaN and infinities as strings.
  JsonWriter& number(double number, const char* format);
  JsonWriter& raw_json(std::string_view json);

  // object() writes braces around what `members` writes; array() writes brackets around what `items` writes.
  template <class Members>
  JsonWriter& object(Members&& members) {
    open_bracket('{'), members();
    return close_bracket('}');
  }
  template <class Items>
  JsonWriter& array(Items&& items) {
    open_bracket('['), items();
    return close_bracket(']');
  }

  template <class T>
  JsonWriter& member(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  // Begins a new line before the next value, member or closing bracket.
  JsonWriter& start_line() {
    starts_new_line_ = true;
    return *this;
  }

 private:
  void begin_value();
  void open_bracket(char bracket);
  JsonWriter& close_bracket(char bracket);

  std::string& output_;
  bool is_first_value_ = true;
  bool starts_new_line_ = false;
};

template <class Write>
std::string json_object(Write&& write) {
  std::string out;
  JsonWriter json(out);
  json.object([&] { write(json); });
  return out;
}

// As json_object(), for any JSON value; appends a line end.
template <class Write>
std::string json_text(Write&& write) {
  std::string out;
  JsonWriter json(out);
  write(json);
  return out + "\n";
}

}  // namespace tgc
