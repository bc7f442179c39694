#include "lib/inspect/jit_lint.h"

#include <doctest/doctest.h>

namespace tgc {
namespace {

constexpr std::string_view kHeader =
    R"({"format":"tgc-golden","version":1,"level":"jit","producer":"tinygrad 0.12.0","settings":{}})";

// A call of "f" of f.py; `more` are further members.
std::string call(int number, std::string_view phase, std::string_view more) {
  return R"({"id":"x","event":"call","jit":0,"function":"f","place":"f.py:1","from":"f.py:)" +
         std::to_string(10 + number) + R"(","call":)" + std::to_string(number) + R"(,"phase":")" + std::string(phase) +
         "\"" + std::string(more) + "}";
}

JitLint lint_of(std::initializer_list<std::string> events) {
  JitLint lint;
  REQUIRE(lint.add(kHeader, "t", 1));
  uint32_t line = 2;
  for (const std::string& e : events) REQUIRE(lint.add(e, "t", line++));
  return lint;
}

// The one finding of such events.
JitFinding only(std::initializer_list<std::string> events) {
  JitLint lint = lint_of(events);
  REQUIRE(lint.findings().size() == 1);
  return lint.findings()[0];
}

TEST_CASE("JitLint: a number that changes after the capture is found once, where it is first seen") {
  JitFinding f = only({call(0, "warmup", R"(,"sees":{"mult":"1"})"), call(1, "capture", R"(,"sees":{"mult":"2"})"),
                       call(2, "replay", R"(,"sees":{"mult":"3"})"), call(3, "replay", R"(,"sees":{"mult":"4"})")});
  CHECK(f.what == "frozen-value");
  CHECK(f.where == "f.py:12");
  CHECK(f.happens == "'mult' is 3 here, and stays 2, as captured");
}

TEST_CASE("JitLint: arguments, objects and tensors that are not those of the capture") {
  auto arg = [](std::string_view fact) { return R"(,"args":{"a":)" + std::string(fact) + "}"; };
  CHECK(only({call(1, "capture", arg(R"({"kind":"value","value":"False"})")),
              call(2, "replay", arg(R"({"kind":"value","value":"True"})"))})
            .what == "frozen-value");
  CHECK(only({call(1, "capture", arg(R"({"kind":"object","type":"Model","object":1})")),
              call(2, "replay", arg(R"({"kind":"object","type":"Model","object":2})"))})
            .what == "frozen-object");
  CHECK(only({call(1, "capture", R"(,"sees":{"w":"buffer 1"})"), call(2, "replay", R"(,"sees":{"w":"buffer 2"})")})
            .what == "frozen-tensor");
}

TEST_CASE("JitLint: what the function does besides kernels") {
  CHECK(only({call(1, "capture", R"(,"reads":[{"place":"f.py:3"}])")}).what == "baked-value");
  CHECK(only({call(0, "warmup", R"(,"changes":["count"])"), call(1, "capture", R"(,"changes":["count"])")}).what ==
        "side-effect");
  JitFinding lost = only({call(1, "capture", R"(,"pending":[{"place":"f.py:4"}])")});
  CHECK(lost.what == "lost-assign");
  CHECK(lost.where == "f.py:4");
  JitFinding error = only({call(2, "replay", R"(,"error":"JitError: duplicate inputs to JIT")")});
  CHECK(error.what == "refused");
  CHECK(error.mend.find("clone") != std::string::npos);
}

TEST_CASE("JitLint: a result that is used after the next call wrote over it, and one that is used before") {
  std::string read = R"({"id":"x","event":"read","jit":0,"call":1,"buffer":7,"place":"f.py:20"})";
  auto out = [](int buffer) { return R"(,"outputs":[{"buffer":)" + std::to_string(buffer) + "}]"; };
  CHECK(only({call(1, "capture", out(7)), call(2, "replay", out(7)), read}).what == "overwritten-output");
  CHECK(lint_of({call(1, "capture", out(7)), read, call(2, "replay", out(7))}).findings().empty());
  CHECK(lint_of({call(1, "warmup", out(7)), call(2, "capture", out(8)), read}).findings().empty());
}

TEST_CASE("JitLint: the captured output as the first replay's input, and another one later") {
  auto in = [](int buffer) { return R"(,"args":{"x":{"kind":"tensor","buffer":)" + std::to_string(buffer) + "}}"; };
  std::string capture = call(1, "capture", in(1) + R"(,"outputs":[{"buffer":7}])");
  CHECK(only({capture, call(2, "replay", in(7)), call(3, "replay", in(9))}).what == "aliased-input");
  CHECK(lint_of({capture, call(2, "replay", in(7)), call(3, "replay", in(7))}).findings().empty());
  CHECK(lint_of({capture, call(2, "replay", in(9)), call(3, "replay", in(8))}).findings().empty());
}

TEST_CASE("JitLint: what is no recording of TinyJits is refused with its line") {
  JitLint lint;
  CHECK_FALSE(lint.add(R"({"format":"tgc-golden","version":1,"level":"kernel"})", "t", 1));
  auto wrong = lint.add("nothing", "t", 7);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.diag().line == 7);
}

}  // namespace
}  // namespace tgc
