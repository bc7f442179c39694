#include "lib/support/file_name.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace tgc;

TEST_CASE("file_name_of: valid names stay unchanged, others become valid and distinct") {
  for (std::string good : {"bin_add_half.0", "E_22_3_4n1", "a#b@c+d", "größe", "モデル.3"})
    CHECK(file_name_of(good) == good);
  std::set<std::string> seen;
  const std::string hostile[] = {"", ".", "..", "../../x", "/etc/passwd", "-o", "a/b", "a b", "a\nb", "a\\b",
                                 std::string("a\0b", 3), std::string("a\0", 2), "a\x1b[31m", "\xff\xfe", "\xc0\xaf",
                                 "\xe2\x80\xae" "gpj", "\xed\xa0\x80", std::string(400, 'x'), std::string(401, 'x'),
                                 std::string(200, '/')};
  for (const std::string& name : hostile) {
    std::string made = file_name_of(name);
    INFO(made);
    CHECK(seen.insert(made).second);
    CHECK(made.size() < 200);
    CHECK(made[0] != '.');
    CHECK(made[0] != '-');
    CHECK(std::filesystem::path(made).filename() == made);
    for (char c : made) CHECK((c > ' ' || c < 0));
    CHECK(file_name_of(made) == made);
  }
}

TEST_CASE("TakenPaths: a repeated name gets a distinct path") {
  TakenPaths taken;
  CHECK(taken.distinct("k") == "k");
  CHECK(taken.distinct("k") == "k~2");
  CHECK(taken.distinct("k~2") == "k~2~2");
  CHECK(taken.distinct("k") == "k~3");
  CHECK(!taken.take("k"));
  CHECK(taken.take("l"));
}
