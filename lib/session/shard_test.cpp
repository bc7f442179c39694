#include "lib/session/shard.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "lib/session/check_merge.h"

namespace tgc {

TEST_CASE("shard: everything is in one of them") {
  for (uint64_t k = 0; k < 40; k++) {
    int in = 0;
    for (uint64_t n = 1; n <= 3; n++) in += Shard{n, 3}.has(k);
    CHECK(in == 1);
  }
  CHECK(Shard::parse("2/4")->of == 4);
  for (const char* text : {"", "0/4", "5/4", "1", "1/", "1/4x", "-1/4"}) CHECK_FALSE(Shard::parse(text));
}

TEST_CASE("shard: reports of check add up") {
  auto folder = std::filesystem::temp_directory_path() / ("tgc_shard_test." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  auto put = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  };
  std::string a = put("a", R"({"records":2,"identical":2,"errors":0,"stages":{"linear":{"same":2}},"first_divergence":{}})");
  std::string b = put("b", R"({"records":3,"identical":2,"errors":0,"stages":{"linear":{"same":2,"different":1},)"
                           R"("source":{"same":3}},"first_divergence":{"linear":1}})");
  auto both = merge_checks({a, b});
  REQUIRE(both);
  CHECK(both->json == R"({"records":5,"identical":4,"errors":0,"stages":{"linear":{"same":4,"different":1},)"
                      R"("source":{"same":3}},"first_divergence":{"linear":1}})" "\n");
  CHECK_FALSE(both->all_identical);
  CHECK(merge_checks({a, a})->all_identical);
  CHECK_FALSE(merge_checks({a, put("c", "{}")}));
  CHECK_FALSE(merge_checks({a, (folder / "none").string()}));
  std::filesystem::remove_all(folder);
}

}  // namespace tgc
