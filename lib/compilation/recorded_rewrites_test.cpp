#include "lib/compilation/recorded_rewrites.h"

#include <doctest/doctest.h>

namespace tgc {

TEST_CASE("recorded rewrites: places, stages, and the graphs before and after are read") {
  Graph graph;
  GoldenRecord record{.id = "k", .target = "CPU", .stages = {{.name = "first"}, {.name = "second"}}};
  record.rewrites_json =
      R"({"nodes":[{"op":"NOOP","dtype":"dtypes.void"},{"op":"SINK","dtype":"dtypes.void","src":[0]}],
    "list":[[0,"a.py:1",0,1],[1,"uop/symbolic.py:217",1,0],[1,"uop/symbolic.py:217",1,1,2],[2,"b.py:1",0,0]]})";
  auto rewrites = read_rewrites(graph, record, "tinygrad 0.14.0", "t");
  REQUIRE(rewrites);
  REQUIRE(rewrites->size() == 4);
  const Rewrite& third = (*rewrites)[2];
  CHECK(third.source_location == "uop/symbolic.py:217");
  CHECK(third.stage->name == "second");
  CHECK((third.rewrite_number == 3 && third.number_in_stage == 2 && third.depth == 2));
  CHECK((*rewrites)[1].before.src(0) == (*rewrites)[1].after);
  CHECK((*rewrites)[3].stage == nullptr);
  const auto of_stages = split_by_stage(record, *rewrites);
  REQUIRE(of_stages.size() == 2);
  CHECK((of_stages[0].size() == 1 && of_stages[1].size() == 2));
  record.rewrites_json = R"({"nodes":[],"list":[[2]]})";
  CHECK_FALSE(read_rewrites(graph, record, "tinygrad 0.14.0", "t"));
}

}  // namespace tgc
