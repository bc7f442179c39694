#include <doctest/doctest.h>

#include "lib/records/read_graph.h"
#include "lib/records/recorded_stages.h"
#include "lib/records/testing.h"
#include "lib/text/formats.h"
#include "lib/text/pyrender.h"

using namespace tgc;

TEST_CASE("formats: detect_kind finds the kind of an input from its content") {
  CHECK(detect_input_kind("c0 = UOp(Ops.SINK)\n") == InputKind::Pyrender);
  CHECK(detect_input_kind("def k0():\n  ast = ...") == InputKind::Pyrender);
  CHECK(detect_input_kind("  \n UOp(Ops.SINK, dtypes.void, arg=None, src=())") == InputKind::Repr);
  CHECK(detect_input_kind("   0 Ops.CONST           : ...") == InputKind::Uops);
  CHECK(detect_input_kind("{\"format\": \"tgc-graph\"") == InputKind::Json);
  CHECK(detect_input_kind("{\"format\":\"tgc-golden\",\"version\":1}") == InputKind::Golden);
  CHECK(detect_input_kind("\x08\x07\x12\x04test") == InputKind::Onnx);
  CHECK(detect_input_kind("") == InputKind::Pyrender);
}

TEST_CASE("formats: a graph survives a round trip through every readable format") {
  Graph g;
  auto root = read_pyrender(
      g,
      "c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.int.ptr(4), (), 0)\nc1 = UOp.range(4, 0, AxisType.LOOP)\n"
      "ast = c0.index(c1, ptr=True).store(UOp.const(dtypes.int, 7)).end(c1).sink()");
  REQUIRE(root.ok());
  for (GraphFormat f : {GraphFormat::Pyrender, GraphFormat::Uops, GraphFormat::Repr, GraphFormat::Json}) {
    auto text = write_graph(f, *root);
    REQUIRE(text.ok());
    CHECK(text->back() == '\n');
    Graph h;
    auto back = read_graph(h, detect_input_kind(*text), *text);
    REQUIRE_MESSAGE(back.ok(), name_of(f));
    CHECK_MESSAGE(*pyrender(back->root) == *pyrender(*root), name_of(f));
  }
  CHECK(write_graph(GraphFormat::Nodes, *root)
        ->starts_with(
            "DEFINE_GLOBAL dtypes.int.ptr(4) 0\nCONST dtypes.index 4\nRANGE dtypes.index (0, AxisType.LOOP)\n"));
  CHECK(write_graph(GraphFormat::Dot, *root)->find("n1 -> n2;") != std::string::npos);
  CHECK(parse_format("json") == GraphFormat::Json);
  CHECK(!parse_format("jsn"));
}

TEST_CASE("formats: read_graph_info reads the metadata without the graph") {
  Graph g;
  GraphInfo info{.name = "k", .stage = "expander", .settings = {{"NOOPT", "1"}}};
  for (GraphFormat f : {GraphFormat::Pyrender, GraphFormat::Repr, GraphFormat::Json}) {
    auto text = write_graph(f, g.constant(dtypes::int32, 7), info);
    REQUIRE(text.ok());
    const std::string head = text->substr(0, text->find(f == GraphFormat::Json ? "\"nodes\"" : "\n") + 8);
    CHECK_MESSAGE(read_graph_info(detect_input_kind(*text), head + " what is malformed") == info, name_of(f));
  }
  CHECK(read_graph_info(InputKind::Json, R"({"nodes":[],"settings":{"NOOPT":"1"}})") == GraphInfo());
  CHECK(read_graph_info(InputKind::Json, R"({"settings":{"NOOPT":)") == GraphInfo());
  CHECK(read_graph_info(InputKind::Pyrender, "c0 = UOp.const(dtypes.int, 1)") == GraphInfo());
}

TEST_CASE("formats: a Python program is no graph; the error says how to record it") {
  for (const char* program : {"from tinygrad import Tensor\n", "# a comment\nimport sys\n", "\"\"\"Trains.\"\"\"\n"}) {
    Graph g;
    auto read = read_graph(g, InputKind::Pyrender, program, "train.py");
    REQUIRE(!read.ok());
    CHECK(read.diag().text() == "train.py: is a Python program, not a graph or a recording, expected what `python -m "
                                "tgc.export --rewrites -o PROGRAM.jsonl.gz -- PROGRAM` records of it");
  }
}

TEST_CASE("formats: every reader reports the positions of nodes") {
  std::string text = "c0 = UOp.const(dtypes.int, 1)\nc1 = UOp.const(dtypes.int, 2)\n\nast = c0+c1";
  Graph g;
  GraphReadReport report;
  auto file = read_graph(g, InputKind::Pyrender, text, "", &report);
  REQUIRE(file.ok());
  CHECK(offset_of_node(report.places, file->root.id()) == text.find("ast"));
  CHECK(offset_of_node(report.places, file->root.src(1).id()) == text.find("c1"));
  std::string json = graph_to_json(file->root);
  Graph h;
  GraphReadReport json_report;
  auto again = read_graph(h, InputKind::Json, json, "", &json_report);
  REQUIRE(again.ok());
  CHECK(json.substr(offset_of_node(json_report.places, again->root.id()), 11) == "{\"op\":\"ADD\"");
}

using namespace tgc;

TEST_CASE("nodes in text: each statement of the golden graphs has its node, with the inferred facts") {
  size_t statements = 0, inferred = 0;
  for_each_golden({"kernels"}, [&](const GoldenRecord& record) {
    for (const RecordedStage& s : RecordedStageTexts(record)) {
      if (!s.text || !s.is_graph() || detect_input_kind(*s.text) != InputKind::Pyrender) continue;
      Graph graph, literal;
      GraphReadReport report;
      std::vector<NodePosition> nodes;
      auto read = read_graph_with_nodes(graph, InputKind::Pyrender, *s.text, record.id, report, nodes);
      REQUIRE(read.ok());
      REQUIRE(nodes.back().node == read->root);
      UOpMap<size_t> below(graph);
      for (UOp u : toposort(read->root)) below[u] = 1;
      for (const NodePosition& n : nodes) REQUIRE(below.find(n.node));
      CHECK(nodes.size() == report.places.size());
      statements += nodes.size();
      // without a header, the reader infers some dtypes; with a header, it infers nothing and makes other nodes
      inferred += !read_pyrender(literal, "# tgc: {}\n" + std::string(*s.text)).ok() ||
                  literal.size() != graph.size();
    }
  });
  CHECK(statements > 10'000);
  CHECK(inferred > 0);
}

TEST_CASE("nodes in text: an error leaves the nodes above it") {
  Graph graph;
  GraphReadReport report;
  std::vector<NodePosition> nodes;
  CHECK_FALSE(read_graph_with_nodes(graph, InputKind::Pyrender, "c0 = UOp.const(dtypes.int, 1)\nc1 = c9\n", "", report,
                                    nodes).ok());
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].node.is_const());
}
