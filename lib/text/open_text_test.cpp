#include <doctest/doctest.h>

#include "lib/records/read_graph.h"
#include "lib/support/sha256.h"
#include "lib/text/formats.h"
#include "lib/text/graph_map.h"
#include "lib/text/print_uops.h"
#include "lib/text/pyrender.h"
#include "lib/text/pyrender_reader.h"
#include "lib/text/restore.h"
#include "lib/uop/facts.h"

namespace tgc {
namespace {

std::string graph_of(std::string_view producer, std::string_view nodes) {
  return "{\"format\":\"tgc-graph\",\"version\":1,\"producer\":\"" + std::string(producer) + "\",\"nodes\":[\n" +
         std::string(nodes) + "\n]}\n";
}

// Checks that `text`, which has names that 0.12.0 lacks, is read and written back unchanged.
void check_kept(const std::string& text) {
  Graph graph;
  auto read = graph_from_json(graph, text);
  REQUIRE(read);
  CHECK(graph.is_foreign());
  CHECK(graph_to_json(read->root, read->info) == text);
}

TEST_CASE("other releases: unknown ops, dtypes, enums and objects are kept") {
  check_kept(graph_of(
      "tinygrad 0.15.0",
      R"j({"op":"TELEPORT","dtype":"dtypes.weakint","arg":{"Ticket":{"*":[1,{"value":"Class.FIRST"}],"seat":null}}},
{"op":"CONST","dtype":"dtypes.fp4","arg":-0.0},
{"op":"ADD","dtype":"dtypes.fp4.vec(4).ptr(16)","src":[0,1,1],"tag":{"raw":"<thing>"}})j"));
  check_kept(graph_of("tinygrad 0.14.0", R"j({"op":"CONST","dtype":"dtypes.weakint","arg":8},
{"op":"PARAM","dtype":"dtypes.float","src":[0],"arg":{"ParamArg":{"*":[0,{"value":"dtypes.float"}],"device":"CPU"}}})j"));
}

TEST_CASE("other releases: unknown names remain an error in 0.12.0") {
  Graph graph;
  CHECK_FALSE(graph_from_json(graph, graph_of("tinygrad 0.12.0", R"({"op":"PARAM","dtype":"dtypes.int","arg":0})")));
  CHECK_FALSE(graph_from_json(graph, graph_of("tinygrad 0.12.0", R"({"op":"NOOP","dtype":"dtypes.weakint"})")));
}

std::string pyrendered(const std::string& json) {
  Graph graph;
  return pyrender_open_graph(graph_from_json(graph, json).value_or_throw().root).text;
}

TEST_CASE("other releases: pyrender prints each release's own form") {
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

TEST_CASE("other releases: names of registers in a tag are kept, and unknown names elsewhere are errors") {
  const std::string ins = "UOp(Ops.INS, dtypes.int, (), X86Ops.DEFINE)";
  const std::string text = "c0 = " + ins + ".rtag((rdi, v3))\nast = c0.sink()";
  Graph graph, other;
  graph.set_release(Release::v0_14), other.set_release(Release::v0_14);
  UOp root = open_pyrender_reader(graph, text, {}, nullptr)->read_graph();
  CHECK(pyrender_open_graph(root).text == text);
  const std::string target = "ast = UOp(Ops.NOOP, dtypes.void, (), ProgramInfo('k', target=NULL))";
  CHECK(pyrender_open_graph(open_pyrender_reader(graph, target, {}, nullptr)->read_graph()).text == target);
  CHECK_THROWS(open_pyrender_reader(other, "c1 = " + ins + "\nast = c2.sink()", {}, nullptr)->read_graph());
}

TEST_CASE("other releases: pyrender_with_places returns the node of each line") {
  Graph graph;
  UOp root = graph_from_json(graph, graph_of("tinygrad 0.14.0", R"j({"op":"CONST","dtype":"dtypes.weakint","arg":8},
{"op":"PARAM","dtype":"dtypes.float","src":[0],"arg":{"ParamArg":{"*":[0,{"value":"dtypes.float"}],"device":"CPU"}}},
{"op":"SINK","dtype":"dtypes.void","src":[1]})j")).value_or_throw().root;
  TextWithNodeLines placed = pyrender_with_node_lines(root).value_or_throw();
  CHECK(placed.text == pyrender_open_graph(root).text);
  REQUIRE(placed.node_lines.size() == 2);
  CHECK(placed.node_lines[0].first == root.src()[0]);
  CHECK(placed.node_lines[1] == std::pair(root, uint32_t(1)));
}

TEST_CASE("other releases: 0.14 writes an operator that would promote its operands as alu") {
  const char* nodes = R"j({"op":"SPECIAL","dtype":"dtypes.int","arg":"a"},
{"op":"SPECIAL","dtype":"dtypes.long","arg":"b"},
{"op":"ADD","dtype":"dtypes.long","src":[0,1]})j";
  CHECK(pyrendered(graph_of("tinygrad 0.14.0", nodes)).ends_with("ast = c0.alu(Ops.ADD, c1)"));
  CHECK(promoted_dtype_0_14(dtypes::parse_any_release("weakint"), dtypes::float16) == dtypes::float16);
  CHECK(promoted_dtype_0_14(dtypes::int8, dtypes::uint8) == dtypes::int16);
  CHECK_FALSE(promoted_dtype_0_14(dtypes::void_, dtypes::int32));
}

TEST_CASE("other releases: a graph that the release cannot print is written as UOp(...) below a header") {
  Graph graph;
  auto read = graph_from_json(graph, graph_of("tinygrad 0.14.0", R"({"op":"SINK","dtype":"dtypes.void"},
{"op":"FUNCTION","dtype":"dtypes.void","src":[0]})"));
  auto text = write_graph(GraphFormat::Pyrender, read.value_or_throw().root, {});
  REQUIRE(text);
  INFO(*text);
  CHECK(text->starts_with("# tgc: {\"producer\":\"tinygrad 0.14\"}\n"));
  CHECK(text->ends_with("ast = UOp(Ops.FUNCTION, dtypes.void, (UOp.sink(),))\n"));
}

TEST_CASE("other releases: a Graph accepts nodes of one release only") {
  const std::string old = "c1 = UOp.range(4, 0, AxisType.LOOP)\nast = (c1*4).sink()\n";
  const std::string newer = graph_of("tinygrad 0.14.0", R"({"op":"CONST","dtype":"dtypes.weakint","arg":4},
{"op":"SINK","dtype":"dtypes.void","src":[0]})");
  Graph graph, other;
  REQUIRE(read_graph(graph, InputKind::Json, newer));
  REQUIRE(read_graph(graph, InputKind::Json, newer));
  CHECK(read_graph(graph, InputKind::Pyrender, old, "in.uop").diag().text() ==
        "in.uop: nodes of tinygrad 0.12, expected nodes of tinygrad 0.14, as in the graph so far");
  CHECK(graph.release() == Release::v0_14);
  REQUIRE(read_graph(other, InputKind::Pyrender, old));
  std::string trouble = read_graph(other, InputKind::Json, newer, "in.json").diag().text();
  CHECK(trouble.find("nodes of tinygrad 0.14, expected nodes of tinygrad 0.12, as in the") != trouble.npos);
  CHECK(other.release() == Release::v0_12);
}

std::string read_as(std::string_view producer, std::string_view text) {
  Graph graph;
  GraphReadReport report{.producer = producer};
  auto read = read_graph(graph, InputKind::Pyrender, text, "in.uop", &report);
  return read ? graph_to_json(read->root, {.producer = std::string(producer)}) : read.diag().text();
}

TEST_CASE("other releases: a REDUCE with a huge axis count is written in one line") {
  Graph graph;
  auto read = graph_from_json(
      graph, graph_of("tinygrad 0.14.0", R"j({"op":"CONST","dtype":"dtypes.weakint","arg":8},
{"op":"REDUCE","dtype":"dtypes.float","src":[0],"arg":[{"value":"Ops.ADD"},1000000000000]})j"));
  REQUIRE(read);
  CHECK(write_graph(GraphFormat::Pyrender, read->root, read->info)->find("(Ops.ADD, 1000000000000)") !=
        std::string::npos);
}

TEST_CASE("other releases: pyrender is read with each release's own meaning") {
  CHECK(read_as("tinygrad 0.13.0",
                "c0 = UOp.new_buffer('CPU', 8, dtypes.float, 3)\nc1 = UOp.const(dtypes.float, -0.0, device='CPU')\n"
                "c2 = (c0*2.0)._rop(Ops.ADD, (0,))\nast = c2.store(c1).sink()") ==
        graph_of("tinygrad 0.13.0", R"j({"op":"UNIQUE","dtype":"dtypes.void","arg":3},
{"op":"DEVICE","dtype":"dtypes.void","arg":"CPU"},
{"op":"BUFFER","dtype":"dtypes.float","src":[0,1],"arg":8},
{"op":"CONST","dtype":"dtypes.float","src":[1],"arg":2.0},
{"op":"MUL","dtype":"dtypes.float","src":[2,3]},
{"op":"REDUCE","dtype":"dtypes.float","src":[4],"arg":[{"value":"Ops.ADD"},[0]]},
{"op":"CONST","dtype":"dtypes.float","src":[1],"arg":-0.0},
{"op":"STORE","dtype":"dtypes.void","src":[5,6]},
{"op":"SINK","dtype":"dtypes.void","src":[7]})j"));
  CHECK(read_as("tinygrad 0.14.0",
                "c0 = UOp.new_buffer('CPU', 8, dtypes.float, 3)\nc1 = UOp.range(8, 0, AxisType.WEAK)\n"
                "c2 = c0.index(c1%3).cast(dtypes.half)._rop(Ops.MAX, (0, 1))\n"
                "c3 = (c1<UOp.const(4, dtypes.weakint)).alu(Ops.WHERE, c2, UOp.const(Invalid, dtypes.bool))\n"
                "ast = c3.end(c1).sink(arg=KernelInfo(name='k'))") ==
        graph_of("tinygrad 0.14.0", R"j({"op":"CONST","dtype":"dtypes.weakint","arg":8},
{"op":"RANGE","dtype":"dtypes.weakint","src":[0],"arg":[0,{"value":"AxisType.WEAK"}]},
{"op":"CONST","dtype":"dtypes.weakint","arg":4},
{"op":"CMPLT","dtype":"dtypes.bool","src":[1,2]},
{"op":"BUFFER","dtype":"dtypes.float","src":[0],"arg":{"ParamArg":{"*":[3,{"value":"dtypes.float"}],"device":"CPU"}}},
{"op":"CONST","dtype":"dtypes.weakint","arg":3},
{"op":"FLOORMOD","dtype":"dtypes.weakint","src":[1,5]},
{"op":"INDEX","dtype":"dtypes.float","src":[4,6]},
{"op":"CAST","dtype":"dtypes.half","src":[7],"arg":{"value":"dtypes.half"}},
{"op":"REDUCE","dtype":"dtypes.half","src":[8],"arg":[{"value":"Ops.MAX"},2]},
{"op":"CONST","dtype":"dtypes.bool","arg":{"value":"Invalid"}},
{"op":"WHERE","dtype":"dtypes.half","src":[3,9,10]},
{"op":"END","dtype":"dtypes.void","src":[11,1]},
{"op":"SINK","dtype":"dtypes.void","src":[12],"arg":{"KernelInfo":{"name":"k"}}})j"));
}

TEST_CASE("other releases: facts that 0.13's pyrender leaves out are inferred") {
  // the bare number 17 is on the text's device, and the lengths of the LOAD and of the REDUCE are inferred
  std::string text = read_as("tinygrad 0.13.0",
                             "c0 = UOp(Ops.PARAM, dtypes.float.ptr(8), (UOp(Ops.DEVICE, dtypes.void, (), 'CPU'),), 0)\n"
                             "c1 = UOp.range(8, 0, AxisType.LOOP)\nc2 = c1.cast(dtypes.uint)+17\n"
                             "c3 = UOp(Ops.STACK, dtypes.float.ptr(8).vec(2), (c0.index(c2, ptr=True), c0))\n"
                             "c4 = c3.load()\nc5 = c4.reduce(c1, arg=(Ops.ADD, ()))\nast = c0.store(c5).sink()");
  INFO(text);
  for (const char* node :
       {R"j({"op":"CONST","dtype":"dtypes.uint","src":[0],"arg":17})j",
        R"j({"op":"LOAD","dtype":"dtypes.float.vec(2)",)j", R"j({"op":"REDUCE","dtype":"dtypes.float",)j"})
    CHECK(text.find(node) != text.npos);
}

TEST_CASE("other releases: UOps and Targets inside args are read") {
  std::string text = read_as("tinygrad 0.14.0",
                             "c0 = UOp.sink()\nast = UOp(Ops.PROGRAM, dtypes.void, (c0,), ProgramInfo(vars=("
                             "UOp(Ops.MUL, dtypes.weakint, src=(\n x0:=UOp(Ops.CONST, dtypes.weakint, arg=1, src=()),\n"
                             "  x0,)),), target=CPU::x86_64,native))");
  INFO(text);
  for (const char* node : {R"j({"op":"MUL","dtype":"dtypes.weakint","src":[1,1]})j",
                           R"j("arg":{"ProgramInfo":{"vars":[{"uop":2}],"target":{"raw":"CPU::x86_64,native"}}})j"})
    CHECK(text.find(node) != text.npos);
}

TEST_CASE("other releases: errors have a position") {
  CHECK(read_as("tinygrad 0.14.0", "c0 = UOp.sink()\nast = c0.teleport()").find("in.uop:2:10") == 0);
  CHECK(read_as("tinygrad 0.14.0", "ast = UOp.sink()/UOp.sink()").find("in.uop:1:7") == 0);
  CHECK(read_as("tinygrad 0.13.0", "ast = UOp.range(3)").find("without an axis") != std::string::npos);
}

TEST_CASE("other releases: the release of a text without a header is guessed from its content") {
  CHECK(release_in_text("c0 = UOp(Ops.DEFINE_GLOBAL, dtypes.float.ptr(4), (), 0)") == Release::v0_12);
  CHECK(release_in_text("ast = UOp.const(dtypes.float, 1.0)") == Release::v0_12);
  CHECK(release_in_text("c1 = UOp.const(dtypes.weakint, 4)") == Release::v0_13);
  CHECK(release_in_text("c1 = UOp.const(4, dtypes.weakint)") == Release::v0_14);
  CHECK(release_in_text("c0 = UOp(Ops.PARAM, dtypes.float, (), 0)") == Release::v0_14);
  CHECK(release_in_text("c0 = UOp(Ops.PARAM, dtypes.float, (), 0)\nc1 = c0.where(c0, c0)") == Release::v0_13);
  CHECK(release_in_text("c0 = UOp(Ops.PARAM)\nc1 = UOp(Ops.DEFINE_GLOBAL)") == Release::v0_12);
  CHECK(read_as("", "c1 = UOp.range(4, 0, AxisType.WEAK)\nast = c1.sink(UOp.const(4, dtypes.weakint))")[0] == '{');
}

TEST_CASE("other releases: a listing has a header if its content does not show the release") {
  auto written = [](const std::string& listing) {
    Graph graph, again;
    auto read = read_graph(graph, InputKind::Uops, listing).value_or_throw();
    std::string text = write_list(GraphFormat::Uops, read.list, read.info).value_or_throw();
    read_graph(again, InputKind::Uops, text).value_or_throw();
    CHECK(again.release() == Release::v0_14);
    return text;
  };
  const std::string header = "# tgc: {\"producer\":\"tinygrad 0.14.0\"}\n";
  std::string one = "   0 Ops.CONST           : dtypes.float                   []                               1.0\n";
  std::string param = one;
  param.replace(param.find("CONST"), 5, "PARAM");
  CHECK(written(header + one).starts_with(header));
  CHECK(written(param)[0] == ' ');  // no header, because PARAM shows that the release is not 0.12.0
}

// Checks that the graph, written as pyrender text, is read back as the same graph.
void check_comes_back(const std::string& json) {
  Graph graph, again;
  auto first = graph_from_json(graph, json).value_or_throw();
  std::string text = write_graph(GraphFormat::Pyrender, first.root, first.info).value_or_throw();
  INFO(text);
  auto read = read_graph(again, InputKind::Pyrender, text);
  REQUIRE(read);
  CHECK(graph_to_json(read->root, first.info) == json);
}

TEST_CASE("other releases: comments restore what pyrender loses") {
  check_comes_back(graph_of("tinygrad 0.14", R"j({"op":"CONST","dtype":"dtypes.weakint","arg":2},
{"op":"STACK","dtype":"dtypes.weakint","src":[0,0]},
{"op":"BUFFER","dtype":"dtypes.float","src":[1],"arg":{"ParamArg":{"*":[3,{"value":"dtypes.float"}],"name":"x"}}},
{"op":"LOAD","dtype":"dtypes.half","src":[2],"tag":[1,"t"]},
{"op":"SQRT","dtype":"dtypes.int","src":[3]},
{"op":"SINK","dtype":"dtypes.void","src":[4]})j"));
  check_comes_back(
      graph_of("tinygrad 0.13", R"j({"op":"RANGE","dtype":"dtypes.int","arg":[0,{"value":"AxisType.LOOP"}]},
{"op":"LOAD","dtype":"dtypes.half.vec(4)","src":[0]},
{"op":"SINK","dtype":"dtypes.void","src":[1]})j"));
  check_comes_back(graph_of("tinygrad 0.13", R"({"op":"SINK","dtype":"dtypes.void"})"));
  check_comes_back(graph_of("somebody", R"({"op":"TELEPORT","dtype":"dtypes.fp4","arg":-0.0},
{"op":"SINK","dtype":"dtypes.void","src":[0],"arg":{"Ticket":{"*":[1],"seat":null}}})"));
}

TEST_CASE("other releases: a listing shows a non-numeric axis as a question mark") {
  std::string text =
      // clang-format off
      "   0 Ops.PARAM           :            dtypes.int                               []                               1\n"
      "   1 Ops.CONST           :            dtypes.index                             []                               4\n"
      "   2 Ops.RANGE           : ?          dtypes.index                             ['4']                            a b\n"
      "   3 Ops.CAST            : ?          dtypes.int                               [2]                              None\n";
      // clang-format on
  Graph graph;
  auto read = read_graph(graph, InputKind::Uops, "# tgc: {\"producer\":\"tinygrad 0.14.0\"}\n" + text);
  REQUIRE_MESSAGE(read.ok(), (read ? "" : read.diag().text()));
  CHECK(graph.is_foreign());
  CHECK(print_uops(read->list) == text);
}

TEST_CASE("other releases: a listing keeps a constant that is a text of several lines") {
  const std::string json = graph_of("tinygrad 0.14.0", R"j({"op":"PARAM","dtype":"dtypes.int","arg":1},
{"op":"CONST","dtype":"dtypes.int","arg":"4\nabc"},
{"op":"CAST","dtype":"dtypes.float","src":[1]},
{"op":"SINK","dtype":"dtypes.void","src":[0,2]})j");
  Graph graph, again;
  auto first = graph_from_json(graph, json).value_or_throw();
  std::string text = write_graph(GraphFormat::Uops, first.root, first.info).value_or_throw();
  CHECK(text.find(" 4\nabc\n") != text.npos);
  auto read = read_graph(again, InputKind::Uops, "# tgc: {\"producer\":\"tinygrad 0.14.0\"}\n" + text);
  REQUIRE_MESSAGE(read.ok(), (read ? "" : read.diag().text()));
  CHECK(graph_to_json(read->root, first.info) == json);
}

TEST_CASE("other releases: a listing keeps the name and arg of an unknown op") {
  const std::string text =
      "# tgc: {\"producer\":\"tinygrad 0.14.0\"}\n"
      "   0 Ops.DEFINE_GLOBAL   :            dtypes.float.ptr(4)                      "
      "[]                               0\n"
      "   1 Ops.TWIDDLE         :            dtypes.float                             "
      "[0]                              7\n";
  Graph graph;
  graph.set_release(Release::v0_14);
  auto read = read_uops(graph, text);
  REQUIRE_MESSAGE(read.ok(), read.diag().text());
  UOp last = read->list.back();
  CHECK(printed_op_name(last) == "TWIDDLE");
  CHECK(printed_arg(last) == Arg(7));
  CHECK(text.ends_with(print_uops(read->list)));
}

TEST_CASE("other releases: nodes sort and have keys as in their release") {
  const char* nodes = R"j({"op":"CONST","dtype":"dtypes.int","arg":1},
{"op":"BUFFER","dtype":"dtypes.int","arg":1},
{"op":"SINK","dtype":"dtypes.void","src":[0,1]})j";
  using Known = std::pair<std::string_view, Order>;
  for (auto [producer, order] : {Known("tinygrad 0.13.0", Order::Less), Known("tinygrad 0.14.0", Order::Greater)}) {
    Graph graph;
    UOp sink = graph_from_json(graph, graph_of(producer, nodes)).value_or_throw().root;
    CHECK(compare_tuplize(sink.src(0), sink.src(1)) == order);
  }
  Graph graph;  // tinygrad computed the expected key of a SINK without sources
  UOp sink = graph_from_json(graph, graph_of("tinygrad 0.14.0", R"({"op":"SINK","dtype":"dtypes.void"})"))->root;
  CHECK(sha256_hex(key_of(sink)).starts_with("bc014fc96d9de08e"));
}

TEST_CASE("GraphMap: translates a port's names, with nodes by position and by id") {
  auto map = GraphMap::read(
      "member nodes items  # theirs\nmember op kind\nlower op\ndtype f32 dtypes.float\n"
      "value Loop AxisType.LOOP\nrelease 0.14\n",
      "m");
  REQUIRE(map);
  auto text = map->to_tgc_json(
      R"({"items":[{"id":7,"kind":"const","dtype":"f32","arg":1.5},{"id":9,"kind":"range","dtype":{"name":"f32","count":4},
    "src":[7],"arg":[0,"Loop"]}]})");
  REQUIRE(text);
  Graph graph;
  auto read = graph_from_json(graph, *text);
  REQUIRE(read);
  CHECK(read->root.is(Op::RANGE));
  CHECK(read->root.dtype().repr() == "dtypes.float.vec(4)");
  CHECK(read->root.arg()[1] == Arg(AxisType::LOOP));
  CHECK_FALSE(map->to_tgc_json(R"({"items":[{"kind":"sink","src":[3]}]})"));
  CHECK_FALSE(GraphMap::read("nothing here at all\n", "m"));
  std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  CHECK_FALSE(map->to_tgc_json(R"({"items":[{"kind":"sink","src":[],"arg":)" + deep + "}]}"));
}

}  // namespace
}  // namespace tgc
