#include "lib/records/nodes_in_text.h"

#include <doctest/doctest.h>

#include "lib/records/recorded_stages.h"
#include "lib/records/testing.h"
#include "lib/text/pyrender.h"

using namespace tgc;

TEST_CASE("nodes in text: each statement of the golden graphs has its node, with the inferred facts") {
  size_t statements = 0, inferred = 0;
  for_each_golden({"kernels"}, [&](const GoldenRecord& record) {
    for (const RecordedStage& s : RecordedStages(record)) {
      if (!s.text || !s.is_graph() || detect_kind(*s.text) != InputKind::Pyrender) continue;
      Graph graph, literal;
      ReadReport report;
      std::vector<NodeAt> nodes;
      auto read = read_graph_with_nodes(graph, InputKind::Pyrender, *s.text, record.id, report, nodes);
      REQUIRE(read.ok());
      REQUIRE(nodes.back().node == read->root);
      UOpMap<size_t> below(graph);
      for (UOp u : toposort(read->root)) below[u] = 1;
      for (const NodeAt& n : nodes) REQUIRE(below.find(n.node));
      CHECK(nodes.size() == report.places.size());
      statements += nodes.size();
      // without a header, some dtypes are inferred; a reader that infers nothing makes other nodes
      inferred += !read_pyrender(literal, "# tgc: {}\n" + std::string(*s.text)).ok() ||
                  literal.size() != graph.size();
    }
  });
  CHECK(statements > 10'000);
  CHECK(inferred > 0);
}

TEST_CASE("nodes in text: an error leaves the nodes above it") {
  Graph graph;
  ReadReport report;
  std::vector<NodeAt> nodes;
  CHECK_FALSE(read_graph_with_nodes(graph, InputKind::Pyrender, "c0 = UOp.const(dtypes.int, 1)\nc1 = c9\n", "", report,
                                    nodes).ok());
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].node.is_const());
}
