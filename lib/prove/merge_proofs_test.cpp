#include "lib/prove/merge_proofs.h"

#include <doctest/doctest.h>

#include <fstream>

#include "lib/contain/temporary_folder.h"

namespace tgc {
namespace {

MergedProofs merged(const std::vector<std::string>& texts) {
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const std::string& text : texts) {
    files.push_back(folder.file("report" + std::to_string(files.size())));
    std::ofstream(files.back()) << text;
  }
  return merge_proofs(files).value_or_throw();
}

}  // namespace

TEST_CASE("merge_proofs: the kernels of shards are in the order of the whole") {
  auto line = [](std::string name, std::string verdict) {
    return "{\"kernel\":\"" + name + "\",\"verdict\":\"" + verdict + "\"}\n";
  };
  const std::string a = line("a", "proven"), b = line("b", "refuted"), c = line("c", "proven");
  const MergedProofs all = merged({a + c + shard_end_line({1, 2}), b + shard_end_line({2, 2})});
  CHECK(all.json == a + b + c);
  CHECK(all.is_refuted);
}

TEST_CASE("merge_proofs: the counts of rules are added up") {
  const MergedProofs all = merged({R"({"rules":2,"proven":2,"list":[{"rule":"x","verdict":"proven"},)"
                                   R"({"rule":"z","verdict":"proven"}]})" "\n" + shard_end_line({1, 2}),
                                   R"({"rules":1,"proven":0,"list":[{"rule":"y","verdict":"unknown"}]})" "\n" +
                                       shard_end_line({2, 2})});
  CHECK(all.json == R"({"rules":3,"proven":2,"list":[{"rule":"x","verdict":"proven"},)"
        R"({"rule":"y","verdict":"unknown"},{"rule":"z","verdict":"proven"}]})" "\n");
  CHECK(!all.is_refuted);
}

TEST_CASE("merge_proofs: a shard without kernels is complete, and one that was stopped is not") {
  const std::string a = "{\"kernel\":\"a\",\"verdict\":\"proven\"}\n";
  const std::string first = a + shard_end_line({1, 2}), second = shard_end_line({2, 2});
  CHECK(merged({first, second}).json == a);
  CHECK_THROWS_AS(merged({first, ""}), Failure);
  CHECK_THROWS_AS(merged({a, second}), Failure);
  CHECK_THROWS_AS(merged({first}), Failure);
  CHECK(merged({first, second, first, second}).json == a + a);
}

TEST_CASE("merge_proofs: refuses other texts, and rules with kernels") {
  const std::string end = shard_end_line({1, 1});
  CHECK_THROWS_AS(merged({"{\"records\":1}\n" + end}), Failure);
  const std::string kernel = "{\"kernel\":\"a\",\"verdict\":\"proven\"}\n";
  CHECK_THROWS_AS(merged({kernel + end, "{\"rules\":0,\"list\":[]}\n" + end}), Failure);
  CHECK_THROWS_AS(merged({"no json"}), Failure);
}

}  // namespace tgc
