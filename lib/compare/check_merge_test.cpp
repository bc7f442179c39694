#include "lib/compare/check_merge.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tgc {

TEST_CASE("merge_checks: the counts of the reports are added") {
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
  CHECK_FALSE(both->are_all_identical);
  CHECK(merge_checks({a, a})->are_all_identical);
  CHECK_FALSE(merge_checks({a, put("c", "{}")}));
  CHECK_FALSE(merge_checks({a, put("empty", "")}));
  CHECK_FALSE(merge_checks({a, (folder / "none").string()}));
  std::filesystem::remove_all(folder);
}

}  // namespace tgc
