#include <doctest/doctest.h>

#include <random>

#include "lib/support/lines.h"

using namespace tgc;

namespace {

std::pair<std::string, std::string> sides(const std::string& diff) {
  std::pair<std::string, std::string> out;
  for (std::string_view line : lines_of(diff)) {
    if (line.substr(0, 2) == "@@") continue;
    if (line[0] != '+') out.first.append(line.substr(2)) += '\n';
    if (line[0] != '-') out.second.append(line.substr(2)) += '\n';
  }
  return out;
}

}  // namespace

TEST_CASE("line_diff: the difference of equal texts is empty") {
  CHECK(line_diff("a\nb\n", "a\nb\n") == "");
  CHECK(line_diff("", "") == "");
}

TEST_CASE("line_diff: shows a change with its context") {
  CHECK(line_diff("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nX\ne\nf\n", {.context_lines = 1}) ==
        "@@ line 3 / 3 @@\n  c\n- d\n+ X\n  e\n");
  CHECK(line_diff("", "x\n") == "@@ line 1 / 1 @@\n+ x\n");
}

TEST_CASE("line_diff: both texts can be reconstructed from the difference") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; round++) {
    std::string a, b;
    for (auto* text : {&a, &b})
      for (size_t i = 0, n = random() % 12; i < n; i++) (*text += char('a' + random() % 3)) += '\n';
    if (a == b) continue;
    std::string diff = line_diff(a, b, {.context_lines = 100, .max_lines = 1000});
    REQUIRE(sides(diff) == std::pair(a, b));
    size_t kept = 0, common = lines_of(a).size();
    for (auto line : lines_of(diff)) kept += line[0] == ' ';
    CHECK(kept <= common);
  }
}

TEST_CASE("line_diff: texts with more than the maximum number of edits are shown as replaced") {
  std::string a, b;
  for (int i = 0; i < 1500; i++) a += "a" + std::to_string(i) + "\n", b += "b" + std::to_string(i) + "\n";
  CHECK(sides(line_diff(a, b, {.max_lines = 10000})) == std::pair(a, b));
  CHECK(lines_of(line_diff(a, b, {.max_lines = 10})).size() == 12);
}

TEST_CASE("line_diff: lines with equal keys are equal") {
  CHECK(line_diff("c1 = x\n", "c2 = x\n", {.old_keys = {5}, .new_keys = {5}}) == "");
}
