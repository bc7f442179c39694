#include "lib/support/limits.h"

#include <doctest/doctest.h>

using namespace tgc;

TEST_CASE("limits: are set by name, with units and 0 for no limit; errors name the invalid part") {
  int64_t before = limit_value(Limit::Nodes);
  CHECK(set_limits("nodes=3K,model-depth=7").ok());
  CHECK(limit_value(Limit::Nodes) == 3072);
  CHECK(limit_value(Limit::ModelDepth) == 7);
  CHECK(set_limits("nodes=0").ok());
  CHECK(limit_value(Limit::Nodes) == INT64_MAX);
  CHECK(set_limits("").ok());
  CHECK(set_limits("node=1").diag().text() == "unknown limit 'node', expected nodes, model-nodes");
  for (const char* text : {"nodes", "nodes=", "nodes=-1", "nodes=1X", "nodes=99999999999T", "nodes=1.5"}) {
    INFO(text);
    CHECK(set_limits(text).diag().expected == "nodes=NUMBER[KMGT]");
  }
  CHECK(set_limits("nodes=5").ok());
  CHECK(limit_error(Limit::Nodes).text().starts_with("more than 5 nodes of one graph"));
  CHECK_NOTHROW(check_limit(Limit::Nodes, 5));
  CHECK_THROWS_AS(check_limit(Limit::Nodes, 6), Failure);
  CHECK(set_limits("nodes=" + std::to_string(before) + ",model-depth=64").ok());
}
