#include <doctest/doctest.h>

#include "lib/text/formats.h"
#include "lib/text/graph_map.h"
#include "lib/text/pyrender_open.h"
#include "lib/text/recorded_rewrites.h"

namespace tgc {
namespace {

std::string graph_of(std::string_view producer, std::string_view nodes) {
  return "{\"format\":\"tgc-graph\",\"version\":1,\"producer\":\"" + std::string(producer) + "\",\"nodes\":[\n" +
         std::string(nodes) + "\n]}\n";
}

// What is new to us is read, and written back to the letter.
void check_kept(const std::string& text) {
  Graph graph;
  auto read = graph_from_json(graph, text);
  REQUIRE(read);
  CHECK(graph.is_foreign());
  CHECK(graph_to_json(read->root, read->info) == text);
}

TEST_CASE("open dialect: ops, dtypes, enums and objects that no release has are kept") {
  check_kept(graph_of(
      "tinygrad 0.15.0",
      R"j({"op":"TELEPORT","dtype":"dtypes.weakint","arg":{"Ticket":{"*":[1,{"value":"Class.FIRST"}],"seat":null}}},
{"op":"CONST","dtype":"dtypes.fp4","arg":-0.0},
{"op":"ADD","dtype":"dtypes.fp4.vec(4).ptr(16)","src":[0,1,1],"tag":{"raw":"<thing>"}})j"));
  check_kept(graph_of("tinygrad 0.14.0", R"j({"op":"CONST","dtype":"dtypes.weakint","arg":8},
{"op":"PARAM","dtype":"dtypes.float","src":[0],"arg":{"ParamArg":{"*":[0,{"value":"dtypes.float"}],"device":"CPU"}}})j"));
}

TEST_CASE("open dialect: of 0.12.0 what is unknown stays an error") {
  Graph graph;
  CHECK_FALSE(graph_from_json(graph, graph_of("tinygrad 0.12.0", R"({"op":"PARAM","dtype":"dtypes.int","arg":0})")));
  CHECK_FALSE(graph_from_json(graph, graph_of("tinygrad 0.12.0", R"({"op":"NOOP","dtype":"dtypes.weakint"})")));
}

std::string pyrendered(const std::string& json) {
  Graph graph;
  return pyrender_open(graph_from_json(graph, json).value_or_throw().root).text;
}

TEST_CASE("open dialect: pyrender of 0.13 and 0.14 as each has it") {
  const char* nodes = R"j({"op":"CONST","dtype":"dtypes.weakint","arg":4},
{"op":"RANGE","dtype":"dtypes.weakint","src":[0],"arg":[0,{"value":"AxisType.LOOP"}]},
{"op":"CONST","dtype":"dtypes.weakint","arg":3},
{"op":"FLOORDIV","dtype":"dtypes.weakint","src":[1,2]},
{"op":"SINK","dtype":"dtypes.void","src":[3]})j";
  CHECK(pyrendered(graph_of("tinygrad 0.13.0", nodes)) ==
        "c1 = UOp.range(4, 0, AxisType.LOOP)\nc3 = c1//UOp.const(dtypes.weakint, 3)\nast = c3.sink()");
  CHECK(pyrendered(graph_of("tinygrad 0.14.0", nodes)) ==
        "c1 = UOp.range(4, 0, AxisType.LOOP)\nc3 = c1//UOp.const(3, dtypes.weakint)\nast = c3.sink()");
}

TEST_CASE("open dialect: 0.14 writes an operator that would promote its operands as alu") {
  const char* nodes = R"j({"op":"SPECIAL","dtype":"dtypes.int","arg":"a"},
{"op":"SPECIAL","dtype":"dtypes.long","arg":"b"},
{"op":"ADD","dtype":"dtypes.long","src":[0,1]})j";
  CHECK(pyrendered(graph_of("tinygrad 0.14.0", nodes)).ends_with("ast = c0.alu(Ops.ADD, c1)"));
  CHECK(promoted_0_14("dtypes.weakint", "dtypes.half") == "dtypes.half");
  CHECK(promoted_0_14("dtypes.char", "dtypes.uchar") == "dtypes.short");
  CHECK_FALSE(promoted_0_14("dtypes.void", "dtypes.int"));
}

TEST_CASE("open dialect: a graph that the release cannot print is written as UOp(...), below a header") {
  Graph graph;
  auto read = graph_from_json(graph, graph_of("tinygrad 0.14.0", R"({"op":"SINK","dtype":"dtypes.void"},
{"op":"FUNCTION","dtype":"dtypes.void","src":[0]})"));
  auto text = write_graph(Format::Pyrender, read.value_or_throw().root, {});
  REQUIRE(text);
  INFO(*text);
  CHECK(text->starts_with("# tgc: {\"producer\":\"tinygrad 0.14\"}\n"));
  CHECK(text->ends_with("ast = UOp(Ops.FUNCTION, dtypes.void, (UOp.sink(),))\n"));
}

TEST_CASE("recorded rewrites: places, and the graphs before and after") {
  Graph graph;
  auto matches = read_rewrites(
      graph, R"({"nodes":[{"op":"NOOP","dtype":"dtypes.void"},{"op":"SINK","dtype":"dtypes.void","src":[0]}],
    "list":[[2,"uop/symbolic.py:217",1,0]]})",
      "tinygrad 0.14.0", "t");
  REQUIRE(matches);
  REQUIRE(matches->size() == 1);
  CHECK((*matches)[0].place == "uop/symbolic.py:217");
  CHECK((*matches)[0].before.src(0) == (*matches)[0].after);
  CHECK_FALSE(read_rewrites(graph, R"({"nodes":[],"list":[[2]]})", "tinygrad 0.14.0", "t"));
}

TEST_CASE("GraphMap: a port's own names, by position and by id") {
  auto map = GraphMap::read(
      "member nodes items  # theirs\nmember op kind\nlower op\ndtype f32 dtypes.float\n"
      "value Loop AxisType.LOOP\nrelease 0.14\n",
      "m");
  REQUIRE(map);
  auto text = map->to_tgc(
      R"({"items":[{"id":7,"kind":"const","dtype":"f32","arg":1.5},{"id":9,"kind":"range","dtype":{"name":"f32","count":4},
    "src":[7],"arg":[0,"Loop"]}]})");
  REQUIRE(text);
  Graph graph;
  auto read = graph_from_json(graph, *text);
  REQUIRE(read);
  CHECK(read->root.is(Op::RANGE));
  CHECK(read->root.dtype().repr() == "dtypes.float.vec(4)");
  CHECK(read->root.arg()[1] == Arg(AxisType::LOOP));
  CHECK_FALSE(map->to_tgc(R"({"items":[{"kind":"sink","src":[3]}]})"));
  CHECK_FALSE(GraphMap::read("nothing here at all\n", "m"));
}

}  // namespace
}  // namespace tgc
