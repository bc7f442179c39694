#include "lib/text/parse_cache.h"

#include <doctest/doctest.h>

#include <string>

using namespace tgc;

TEST_CASE("ParseCache: finds a piece by its whole text, short ones too") {
  static ParseCache<int> known;
  auto padded = [](std::string_view piece) { return std::string(piece) + std::string(8, '\0'); };
  auto find = [&](std::string_view piece) {
    std::string text = padded(piece);
    return known.find_value(std::string_view(text).substr(0, piece.size()));
  };
  auto keep = [&](std::string_view piece, int value) {
    std::string text = padded(piece);
    known.store_value(std::string_view(text).substr(0, piece.size()), value);
  };
  CHECK(find("") == nullptr);
  keep("", 1);
  CHECK(find("") == nullptr);
  keep(".int", 2);
  CHECK(find(".in") == nullptr);
  REQUIRE(find(".int"));
  CHECK(*find(".int") == 2);
  keep("(dtypes.index, 10)", 3);
  REQUIRE(find("(dtypes.index, 10)"));
  CHECK(*find("(dtypes.index, 10)") == 3);
  // these texts have equal hashes and share a slot
  keep("(dtypes.index, 1000000000)", 5);
  CHECK(find("(dtypes.index, 2000000000)") == nullptr);
  keep("(dtypes.index, 2000000000)", 6);
  CHECK(find("(dtypes.index, 1000000000)") == nullptr);
  REQUIRE(find("(dtypes.index, 2000000000)"));
  CHECK(*find("(dtypes.index, 2000000000)") == 6);
  keep(std::string(100, 'x'), 7);
  CHECK(find(std::string(100, 'x')) == nullptr);
}
