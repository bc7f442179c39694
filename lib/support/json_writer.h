// The one writer of JSON: commas, quotes and brackets are its business. Text is appended to a string of the caller's,
// on one line unless line() is asked for.
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

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 are written as U+FFFD.
void append_json_string(std::string& out, std::string_view text);

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  // The next member's name; its value follows.
  JsonWriter& key(std::string_view name);

  // A value: alone, an item of an array, or that of the key before. None of an optional is null; a range is an array.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool yes) { return raw(yes ? "true" : "false"); }
  JsonWriter& value(std::integral auto number) { return raw(std::to_string(number)); }
  // the shortest text that reads back as it; "nan", "inf" and "-inf", which JSON lacks, as strings
  JsonWriter& value(double number);
  template <class T>
  JsonWriter& value(const std::optional<T>& v) {
    return v ? value(*v) : null();
  }
  template <std::ranges::input_range List>
    requires(!std::convertible_to<List, std::string_view>)
  JsonWriter& value(const List& list) {
    return array([&] {
      for (const auto& item : list) value(item);
    });
  }
  JsonWriter& null() { return raw("null"); }
  // By a format of printf's, such as "%.3f"; "nan" and so on as above.
  JsonWriter& number(double number, const char* format);
  JsonWriter& raw(std::string_view json);  // what is JSON already

  // Brackets around what the function writes.
  template <class Members>
  JsonWriter& object(Members&& members) {
    open('{'), members();
    return close('}');
  }
  template <class Items>
  JsonWriter& array(Items&& items) {
    open('['), items();
    return close(']');
  }

  template <class T>
  JsonWriter& member(std::string_view name, const T& v) {
    return key(name).value(v);
  }
  // What comes next, a value, a member or the closing bracket, begins on a new line.
  JsonWriter& line() {
    new_line_ = true;
    return *this;
  }

 private:
  void begin_value();
  void open(char bracket);
  JsonWriter& close(char bracket);

  std::string& out_;
  bool first_ = true;       // what comes next wants no comma before it
  bool new_line_ = false;
};

}  // namespace tgc
