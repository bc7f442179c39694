#include "lib/text/json_scan.h"

#include <doctest/doctest.h>

using namespace tgc;

namespace {

Diag failure(std::string_view text, auto&& read) {
  JsonScanner in(text, "in.json");
  auto result = catch_failures([&] { return read(in), 0; });
  return result ? Diag{"no failure"} : result.diag();
}

}  // namespace

TEST_CASE("json: reads strings with every escape") {
  JsonScanner in(R"("a\"\\\/\b\f\n\r\tz \u00e9 \ud83d\ude00")");
  CHECK(in.string() == "a\"\\/\b\f\n\r\tz \xC3\xA9 \xF0\x9F\x98\x80");
}

TEST_CASE("json: reads objects, arrays, numbers and literals in any layout") {
  JsonScanner in("{ \"a\" : [1,-2 , 3.5e-1],\n\"b\":{}, \"c\":null,\"d\":true, \"\\u0065\":[ ] }");
  std::string seen;
  in.object([&](std::string_view key) {
    seen += std::string(key) + "=";
    if (key == "a") in.array([&] { seen += std::string(in.number()) + ","; });
    else if (key == "c") seen += in.read_null() ? "null" : "?";
    else if (key == "d") seen += in.read_boolean() ? "true" : "false";
    else seen += in.skip_any();
    seen += ";";
  });
  in.expect_end();
  CHECK(seen == "a=1,-2,3.5e-1,;b={};c=null;d=true;e=[ ];");
}

TEST_CASE("json: errors have a position") {
  auto skip_any = [](JsonScanner& in) { in.skip_any(), in.expect_end(); };
  CHECK(failure("{\"a\":\n  tru}", skip_any).text().starts_with("in.json:2:3: found 'tru', expected a JSON value"));
  CHECK(failure("[1,2", skip_any).text().starts_with("in.json:1:5: found the end of the input, expected ',' or ']'"));
  CHECK(failure("\"ab", skip_any).text().starts_with("in.json:1:1: a string without an end"));
  CHECK(failure("\"a\tb\"", skip_any).text().starts_with("in.json:1:3: found the byte 0x09 in a string"));
  CHECK(failure("\"\\q\"", skip_any).message == "an unknown escape in a string");
  CHECK(failure("\"\\ud800x\"", skip_any).message == "half of a surrogate pair");
  CHECK(failure("\"ab\xFFz\"", skip_any).text().starts_with("in.json:1:4: a string that is not UTF-8"));
  CHECK(failure("1 2", skip_any).text().starts_with("in.json:1:3: found '2' after the value"));
  CHECK(failure(std::string(5000, '['), skip_any).message == "brackets are nested more than 4096 deep");
  CHECK(failure("99999999999999999999", [](JsonScanner& in) { in.read_int64(); }).expected ==
        "an integer of at most 64 bits");
  CHECK(failure("[]", [](JsonScanner& in) { in.string(); })
        .text()
        .starts_with("in.json:1:1: found '[', expected a string"));
}

TEST_CASE("json: reads back what append_json_string writes") {
  for (std::string text : {std::string("plain"), std::string("q\"\\\n\t\x01\x1b[0m"),
                           std::string("\xC3\xA9\xF0\x9F\x98\x80"), std::string("a\0b", 3)}) {
    std::string json;
    append_json_string(json, text);
    CHECK(JsonScanner(json).string() == text);
  }
}
