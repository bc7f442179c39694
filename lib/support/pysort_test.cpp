#include "lib/support/pysort.h"

#include <doctest/doctest.h>

#include "lib/support/testing.h"

using namespace tgc;

TEST_CASE("py_sort: gives CPython's order for consistent and inconsistent comparisons") {
  auto lines = read_test_lines("expect/sort.txt");
  REQUIRE(lines.size() > 200);
  for (const std::string& line : lines) {
    auto w = words_of(line);
    const std::string& kind = w[0];
    int64_t modulus = std::stoll(w[1]), limit = std::stoll(w[2]), seed = std::stoll(w[3]);
    auto less = [&](int64_t a, int64_t b) {
      if (kind == "order") return a * 7919 % 101 < b * 7919 % 101;
      if (kind == "near") return a * 7919 % 1009 + 40 < b * 7919 % 1009;
      return (a * 7919 + b * 104729 + seed) % modulus < limit;
    };
    auto colon = std::find(w.begin() + 5, w.end(), ":");
    std::vector<int64_t> items, expected;
    for (auto it = w.begin() + 5; it != colon; ++it) items.push_back(std::stoll(*it));
    for (auto it = colon + 1; it != w.end(); ++it) expected.push_back(std::stoll(*it));
    REQUIRE(items.size() == expected.size());
    py_sort(items, less);
    INFO(line.substr(0, 60));
    CHECK(items == expected);
  }
}
