#include "lib/support/json_writer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

using namespace tgc;

namespace {

template <class Write>
std::string written(Write write) {
  std::string out;
  JsonWriter json(out);
  write(json);
  CHECK(nlohmann::json::accept(out));
  return out;
}

}  // namespace

TEST_CASE("json writer: objects and arrays nest") {
  auto text = written([](JsonWriter& json) {
    json.object([&] {
      json.member("a", 1).member("b", "two").member("c", true).member("d", std::vector{1, 2, 3});
      json.key("e").array([&] {
        json.object([] {}).array([] {}).write_null().value(std::optional<int>()).value(std::optional(4))
            .value(std::string("x"));
        json.object([&] { json.member("y", -7); });
      });
      json.member("f", std::vector<std::string>()).key("g").raw_json("{\"ready\":1}");
    });
  });
  CHECK(text ==
        R"({"a":1,"b":"two","c":true,"d":[1,2,3],"e":[{},[],null,null,4,"x",{"y":-7}],"f":[],"g":{"ready":1}})");
}

TEST_CASE("json writer: pairs of a name and a value become an object") {
  const std::map<std::string, int> counts{{"a", 1}, {"b", 2}}, none;
  CHECK(json_object([&](JsonWriter& json) { json.member("counts", counts).member("none", none); }) ==
        R"({"counts":{"a":1,"b":2},"none":{}})");
}

TEST_CASE("json writer: numbers of every type are written, NaN and infinities as strings") {
  auto text = written([](JsonWriter& json) {
    json.array([&] {
      json.value(0.1).value(1.0).value(1e-7).value(uint64_t(18446744073709551615u)).value(int64_t(INT64_MIN))
          .value(uint8_t(65));
      json.value(double(NAN)).value(double(INFINITY)).value(-double(INFINITY));
      json.number(1.0 / 3, "%.3f").number(0.1, "%.17g").number(NAN, "%.3f")
          .number(std::numeric_limits<double>::max(), "%.6f");
    });
  });
  CHECK(text.starts_with(R"([0.1,1.0,1e-07,18446744073709551615,-9223372036854775808,65,"nan","inf","-inf",)"));
  CHECK(text.find(R"(,0.333,0.10000000000000001,"nan",17976931)") != text.npos);
  CHECK(text.ends_with(".000000]"));
}

TEST_CASE("json writer: strings and names are escaped") {
  std::string text = written([](JsonWriter& json) {
    json.object([&] { json.member("say \"a\"\\", std::string_view("tab\tline\nnul\0 \xE2\x82\xAC", 17)); });
  });
  CHECK(text == "{\"say \\\"a\\\"\\\\\":\"tab\\tline\\nnul\\u0000 \xE2\x82\xAC\"}");
  CHECK(written([](JsonWriter& json) { json.value("a\xFF z"); }) == "\"a\xEF\xBF\xBD z\"");
}

TEST_CASE("json writer: line() starts a new line") {
  auto rows = [](int n, bool last) {
    return written([&](JsonWriter& json) {
      json.array([&] {
        for (int i = 0; i < n; i++) json.start_line().object([&] { json.member("i", i); });
        if (last) json.start_line();
      });
    });
  };
  CHECK(rows(2, true) == "[\n{\"i\":0},\n{\"i\":1}\n]");
  CHECK(rows(2, false) == "[\n{\"i\":0},\n{\"i\":1}]");
  CHECK(rows(0, false) == "[]");
}
