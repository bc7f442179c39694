#include "lib/compare/replay_culprit.h"

#include <doctest/doctest.h>

#include "lib/text/graph_json.h"

namespace tgc {
namespace {

// Nodes: 0 and 1 are constants, 2 their sum, 3 the variable of a substituted graph, 4 and 5 sums with the variable,
// 6 the SINK of the sum, 7 the SINK of constant 1.
constexpr std::string_view kNodes =
    R"({"op":"CONST","dtype":"dtypes.int","arg":1},{"op":"CONST","dtype":"dtypes.int","arg":2},)"
    R"({"op":"ADD","dtype":"dtypes.int","src":[0,1]},{"op":"PARAM","dtype":"dtypes.int","arg":7},)"
    R"({"op":"ADD","dtype":"dtypes.int","src":[3,0]},{"op":"ADD","dtype":"dtypes.int","src":[3,1]},)"
    R"({"op":"SINK","dtype":"dtypes.void","src":[2]},{"op":"SINK","dtype":"dtypes.void","src":[1]})";

struct Sides {
  Graph graph;
  UOp sum, one;
  Sides() {
    graph.set_release(Release::v0_14);
    auto read = [&](std::string_view nodes) {
      return graph_from_json(graph, R"({"format":"tgc-graph","version":1,"producer":"tinygrad 0.14.0","nodes":[)" +
                                        std::string(nodes) + "]}")
          .value_or_throw()
          .root;
    };
    one = read(kNodes);
    sum = read(kNodes.substr(0, kNodes.rfind(",{")));
  }
  // Returns the culprit between a recording whose result is a constant and one whose result is a sum.
  ReplayCulprit culprit(const std::string& matches_a, const std::string& matches_b) {
    auto record = [](const std::string& matches) {
      GoldenRecord out;
      out.stages.resize(1);
      out.stages[0].name = "simplify";
      out.rewrites = R"({"nodes":[)" + std::string(kNodes) + R"(],"list":[)" + matches + "]}";
      return out;
    };
    return find_culprit(record(matches_a), record(matches_b), "tinygrad 0.14.0", "simplify", one, sum);
  }
};

TEST_CASE("replay culprit: the rule that rewrote a node which the other side still has, not what it calls") {
  Sides s;
  const std::string common = R"([0,"uop/symbolic.py:1",0,1])";
  const std::string substitution = R"([0,"uop/ops.py:1756",2,4])", inner = R"([0,"codegen/simplify.py:101",4,5])",
                    outer = R"([0,"codegen/simplify.py:151",2,1])";
  CHECK(s.culprit(common + "," + substitution + "," + inner + "," + outer, common).rule == "codegen/simplify.py:151");
  CHECK(s.culprit(common, common).rule == "");
}

TEST_CASE("replay culprit: two rules for one node, and a rule that is only the first difference") {
  Sides s;
  CHECK(s.culprit(R"([0,"uop/symbolic.py:1",4,1])", R"([0,"uop/symbolic.py:2",4,2])").rule ==
        "uop/symbolic.py:1 -> uop/symbolic.py:2");
  CHECK(s.culprit(R"([0,"uop/symbolic.py:1",4,1])", R"([0,"uop/symbolic.py:1",4,2])").rule == "uop/symbolic.py:1");
  ReplayCulprit unknown = s.culprit(R"([0,"uop/symbolic.py:1",4,5])", R"([0,"uop/symbolic.py:1",5,4])");
  CHECK(unknown.rule == "");
  CHECK(unknown.first_match == "uop/symbolic.py:1");
}

}  // namespace
}  // namespace tgc
