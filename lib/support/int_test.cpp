#include "lib/support/int.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <iostream>
#include <vector>

#include "lib/support/testing.h"

using namespace tgc;

namespace {

Int parsed(const std::string& text) {
  auto i = Int::parse(text);
  REQUIRE_MESSAGE(i.has_value(), text);
  return *i;
}

double double_of(const std::string& hex) { return std::bit_cast<double>(std::stoull(hex, nullptr, 16)); }

std::string answer(const std::string& op, const std::string& a, const std::string& b) {
  if (op == "trunc") return Int::trunc(double_of(a)).str();
  Int x = parsed(a), y = parsed(b);
  auto n = uint32_t(y.low_64_bits());
  if (op == "add") return (x + y).str();
  if (op == "sub") return (x - y).str();
  if (op == "mul") return (x * y).str();
  if (op == "floordiv") return floor_div(x, y).str();
  if (op == "floormod") return floor_mod(x, y).str();
  if (op == "cdiv") return cdiv(x, y).str();
  if (op == "cmod") return cmod(x, y).str();
  if (op == "and") return (x & y).str();
  if (op == "or") return (x | y).str();
  if (op == "xor") return (x ^ y).str();
  if (op == "gcd") return gcd(x, y).str();
  if (op == "less") return x < y ? "1" : "0";
  if (op == "shl") return (x << n).str();
  if (op == "shr") return (x >> n).str();
  if (op == "pow") return pow(x, n).str();
  if (op == "bits") return std::to_string(x.bit_length());
  if (op == "low64") return std::to_string(x.low_64_bits());
  if (op == "equal") return x == y ? "1" : "0";
  if (op == "neg") return (-x).str();
  if (op == "abs") return x.abs().str();
  if (op == "hex") return x.str();
  REQUIRE_MESSAGE((op == "double" || op == "truediv"), op);
  char hex[20];
  std::snprintf(hex, sizeof hex, "%016lx", std::bit_cast<uint64_t>(op == "double" ? x.to_double() : true_div(x, y)));
  return hex;
}

bool is_right(const std::string& line) {
  auto w = words_of(line);
  auto result = catch_failures([&] { return answer(w[0], w[1], w[2]); });
  const std::string found = result ? *result : "error";
  if (found != w[3]) std::cerr << "Int has " << found << " for: " << line << std::endl;
  return found == w[3];
}

bool same_as_python(int seed, int count) {
  std::string command = "python3 '" + source_path("scripts/tools/int_operations.py") + "' " +
                        std::to_string(seed) + " " + std::to_string(count);
  FILE* pipe = popen(command.c_str(), "r");
  char* line = nullptr;
  size_t room = 0;
  int right = 0;
  while (ssize_t(getline(&line, &room, pipe)) > 0 && is_right(line)) right++;
  free(line);
  return pclose(pipe) == 0 && right == count;
}

}  // namespace

TEST_CASE("Int: arithmetic on small and large values equals Python's") {
  auto lines = read_test_lines("expect/int.txt");
  REQUIRE(lines.size() > 1000);
  for (const std::string& line : lines) CHECK(is_right(line));
}

// Runs in child processes, because the table of large values is never freed.
TEST_CASE("Int: a hundred thousand random operations have Python's results") {
  std::vector<pid_t> children;
  for (int seed : {1, 2}) {
    children.push_back(fork());
    if (children.back() == 0) _exit(same_as_python(seed, 50000) ? 0 : 1);
  }
  for (pid_t child : children) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
}

TEST_CASE("Int: equal values have equal handles, however they were computed") {
  Int big = Int::pow2(100);
  CHECK(big == pow(Int(2), 100));
  CHECK(big - 1 + 1 == big);
  CHECK((big >> 90).is_small());
  CHECK(big - big == 0);
  CHECK(Int(INT64_MIN) == -Int(INT64_MAX) - 1);
  CHECK(!(-Int(INT64_MIN)).is_small());
  CHECK(-(-Int(INT64_MIN)) == Int(INT64_MIN));
}

TEST_CASE("Int: parse reads Python's integer literals and rejects others") {
  CHECK(Int::parse("0x1F") == Int(31));
  CHECK(Int::parse("-0b101") == Int(-5));
  CHECK(Int::parse("0o17") == Int(15));
  CHECK(Int::parse("1_000") == Int(1000));
  for (const char* bad : {"", "-", "1__0", "_1", "1_", "0x", "12a", " 1", "0b2"}) CHECK_MESSAGE(!Int::parse(bad), bad);
}

TEST_CASE("Int: zero shifted by one word or more stays zero") {
  CHECK((Int(0) << 64) == Int(0));
  CHECK((Int(0) << 1000) == Int(0));
}

TEST_CASE("Int: conversions and operations without an integer result fail") {
  auto fails = [](auto body) { return !catch_failures([&] { return body(), 0; }); };
  CHECK(fails([] { Int::trunc(1.0 / 0.0); }));
  CHECK(fails([] { Int::trunc(0.0 / 0.0); }));
  CHECK(fails([] { Int::pow2(2000).to_double(); }));
  CHECK(fails([] { Int::pow2(64).int64_or_throw("size"); }));
  CHECK(!fails([] { Int::pow2(10000) * Int::pow2(20000); }));
  CHECK(fails([] { Int::pow2(20000) * Int::pow2(20000); }));
  CHECK(fails([] { Int(1) << 40000; }));
  CHECK(fails([] { pow(Int(10), 1u << 30); }));
}
