#include "lib/diff/renames.h"

#include <doctest/doctest.h>

#include "lib/diff/graph_diff.h"
#include "lib/text/graph_json.h"

namespace tgc {
namespace {

UOp read(Graph& graph, const std::string& nodes, const std::string& producer) {
  std::string text =
      "{\"format\":\"tgc-graph\",\"version\":1,\"producer\":\"" + producer + "\",\"nodes\":[" + nodes + "]}";
  return graph_from_json(graph, text).value_or_throw().root;
}

TEST_CASE("Renames: a graph of 0.12 with 0.13's names equals 0.13's graph") {
  Graph graph;
  UOp old = read(
      graph,
      R"j({"op":"DEFINE_GLOBAL","dtype":"dtypes.float.ptr(8)","arg":0},{"op":"CONST","dtype":"dtypes.index","arg":4},
    {"op":"INDEX","dtype":"dtypes.float.ptr(8)","src":[0,1]})j",
      "tinygrad 0.12.0");
  UOp now = read(
      graph, R"j({"op":"PARAM","dtype":"dtypes.float.ptr(8)","arg":0},{"op":"CONST","dtype":"dtypes.weakint","arg":4},
    {"op":"INDEX","dtype":"dtypes.float","src":[0,1]})j",
      "tinygrad 0.13.0");
  RenameTable renames = RenameTable::for_releases(Release::v0_13, Release::v0_12);
  CHECK(renames.rename_graph(old) == now);
  CHECK(renames.rename_graph(now) == now);
  CHECK(renames.stage_after_renames("bufferize to store") == "stage to store");
}

TEST_CASE("Renames: only a KernelInfo with default fields is dropped") {
  Graph graph;
  const std::string nodes =
      R"j({"op":"PARAM","dtype":"dtypes.float.ptr(8)","arg":0},{"op":"SINK","dtype":"dtypes.void","src":[0])j";
  auto info = [&](const std::string& name) {
    return read(
        graph,
        nodes + R"j(,"arg":{"KernelInfo":{"name":")j" + name +
            R"j(","axis_types":[],"dont_use_locals":false,"applied_opts":[],"opts_to_apply":null,"estimates":null,"beam":0}}})j",
        "tinygrad 0.13.0");
  };
  RenameTable renames = RenameTable::for_releases(Release::v0_12, Release::v0_13);
  CHECK(renames.rename_graph(info("test")) == read(graph, nodes + "}", "tinygrad 0.13.0"));
  CHECK_FALSE(renames.rename_graph(info("mine")).arg().is_none());
}

TEST_CASE("Renames: a vector constant of 0.12 equals a STACK of 0.13") {
  Graph graph;
  UOp old = read(graph, R"j({"op":"VCONST","dtype":"dtypes.index.vec(2)","arg":[0,4]})j", "tinygrad 0.12.0");
  UOp now =
      read(graph, R"j({"op":"CONST","dtype":"dtypes.weakint","arg":0},{"op":"CONST","dtype":"dtypes.weakint","arg":4},
    {"op":"STACK","dtype":"dtypes.weakint.vec(2)","src":[0,1]})j",
           "tinygrad 0.13.0");
  CHECK(RenameTable::for_releases(Release::v0_12, Release::v0_13).rename_graph(old) == now);
}

TEST_CASE("Renames: the dtype of a store's INDEX may be a pointer or its element dtype") {
  Graph graph;
  auto place = [&](const std::string& dtype, const std::string& buffer) {
    return read(graph, R"j({"op":"PARAM","dtype":"dtypes.float.ptr(8)","arg":)j" + buffer +
                R"j(},{"op":"CONST","dtype":"dtypes.weakint","arg":4},{"op":"INDEX","dtype":")j" + dtype +
                R"j(","src":[0,1]})j",
                "tinygrad 0.13.0");
  };
  RenameTable renames = RenameTable::for_releases(Release::v0_12, Release::v0_13);
  CHECK(renames.rename_graph(place("dtypes.float.ptr(8)", "0")) == renames.rename_graph(place("dtypes.float", "0")));
  CHECK(renames.rename_graph(place("dtypes.float.ptr(8).vec(4)", "0")) ==
        renames.rename_graph(place("dtypes.float.vec(4)", "0")));
  CHECK(renames.rename_graph(place("dtypes.float", "0")) != renames.rename_graph(place("dtypes.half", "0")));
  CHECK(renames.rename_graph(place("dtypes.float", "0")) != renames.rename_graph(place("dtypes.float", "1")));
}

TEST_CASE("Renames: the forms of 0.14 are no difference") {
  Graph graph;
  UOp old = read(graph, R"j({"op":"PARAM","dtype":"dtypes.float.ptr(16)","arg":1},
    {"op":"CONST","dtype":"dtypes.weakint","arg":16},
    {"op":"RANGE","dtype":"dtypes.weakint","src":[1],"arg":[0,{"value":"AxisType.LOOP"}]},
    {"op":"INDEX","dtype":"dtypes.float.ptr(16)","src":[0,2]},
    {"op":"DEVICE","dtype":"dtypes.void","arg":"CPU"},
    {"op":"CONST","dtype":"dtypes.float","src":[4],"arg":0.5},
    {"op":"MUL","dtype":"dtypes.float","src":[3,5]},
    {"op":"CAST","dtype":"dtypes.half","src":[6]},
    {"op":"REDUCE","dtype":"dtypes.half","src":[7],"arg":[{"value":"Ops.ADD"},[0,1]]})j",
                 "tinygrad 0.13.0");
  UOp now = read(graph, R"j({"op":"CONST","dtype":"dtypes.weakint","arg":16},
    {"op":"PARAM","dtype":"dtypes.float","src":[0],"arg":{"ParamArg":{"*":[1,{"value":"dtypes.float"}],"device":"CPU"}}},
    {"op":"RANGE","dtype":"dtypes.weakint","src":[0],"arg":[0,{"value":"AxisType.WEAK"}]},
    {"op":"INDEX","dtype":"dtypes.float","src":[1,2]},
    {"op":"CONST","dtype":"dtypes.weakfloat","arg":0.5},
    {"op":"MUL","dtype":"dtypes.float","src":[3,4]},
    {"op":"CAST","dtype":"dtypes.half","src":[5],"arg":{"value":"dtypes.half"}},
    {"op":"REDUCE","dtype":"dtypes.half","src":[6],"arg":[{"value":"Ops.ADD"},2]})j",
                 "tinygrad 0.14.0");
  RenameTable renames = RenameTable::for_releases(Release::v0_13, Release::v0_14);
  CHECK(renames.rename_graph(old) == renames.rename_graph(now));
  CHECK(RenameTable().rename_graph(old) == old);
  CHECK_FALSE(RenameTable::read("form NOTHING\n", "t"));
  CHECK(RenameTable::read("form REDUCE\n", "t"));
}

TEST_CASE("Renames: shapes, positions, constants and buffer numbers are converted to the forms of 0.14") {
  Graph graph;
  UOp old =
      read(graph, R"j({"op":"UNIQUE","dtype":"dtypes.void","arg":7},{"op":"DEVICE","dtype":"dtypes.void","arg":"CPU"},
    {"op":"BUFFER","dtype":"dtypes.float","src":[0,1],"arg":16},
    {"op":"CONST","dtype":"dtypes.weakint.vec(2)","arg":4},{"op":"RESHAPE","dtype":"dtypes.float","src":[2,3]},
    {"op":"CONST","dtype":"dtypes.weakint","arg":1},{"op":"CONST","dtype":"dtypes.weakint","arg":3},
    {"op":"STACK","dtype":"dtypes.weakint.vec(2)","src":[5,5]},{"op":"STACK","dtype":"dtypes.weakint.vec(2)","src":[6,5]},
    {"op":"SHRINK","dtype":"dtypes.float","src":[4,7,8]},
    {"op":"PAD","dtype":"dtypes.float","src":[9,7,8]},
    {"op":"CONST","dtype":"dtypes.float","src":[1],"arg":0.5},{"op":"EXPAND","dtype":"dtypes.float","src":[11,3]},
    {"op":"MUL","dtype":"dtypes.float","src":[12,12]},{"op":"MUL","dtype":"dtypes.float","src":[10,13]},
    {"op":"CALL","dtype":"dtypes.void","src":[14],"arg":{"CallInfo":{"*":[null,[],"f",false,false]}}}
    )j",
           "tinygrad 0.13.0");
  UOp now = read(graph, R"j({"op":"CONST","dtype":"dtypes.weakint","arg":16},
    {"op":"BUFFER","dtype":"dtypes.float","src":[0],"arg":{"ParamArg":{"*":[3,{"value":"dtypes.float"}],"device":"CPU"}}},
    {"op":"CONST","dtype":"dtypes.weakint","arg":4},{"op":"STACK","dtype":"dtypes.weakint","src":[2,2]},
    {"op":"RESHAPE","dtype":"dtypes.float","src":[1,3]},
    {"op":"CONST","dtype":"dtypes.weakint","arg":1},{"op":"CONST","dtype":"dtypes.weakint","arg":2},
    {"op":"CONST","dtype":"dtypes.weakint","arg":0},
    {"op":"STACK","dtype":"dtypes.weakint","src":[5,5]},{"op":"STACK","dtype":"dtypes.weakint","src":[6,7]},
    {"op":"SHRINK","dtype":"dtypes.float","src":[4,8,9]},
    {"op":"CONST","dtype":"dtypes.weakint","arg":6},{"op":"STACK","dtype":"dtypes.weakint","src":[11,6]},
    {"op":"PAD","dtype":"dtypes.float","src":[10,8,12]},
    {"op":"CONST","dtype":"dtypes.weakfloat","arg":0.5},
    {"op":"MUL","dtype":"dtypes.weakfloat","src":[14,14]},{"op":"MUL","dtype":"dtypes.float","src":[13,15]},
    {"op":"CALL","dtype":"dtypes.void","src":[16],"arg":{"CallInfo":{"*":[null,"f",false,false]}}}
    )j",
                 "tinygrad 0.14.0");
  RenameTable renames = RenameTable::for_releases(Release::v0_13, Release::v0_14);
  CHECK(renames.rename_graph(old, true) == renames.rename_graph(now));
  CHECK(renames.rename_graph(old) != renames.rename_graph(now));  // without is_older, the sources of SHRINK differ
}

TEST_CASE("Renames: chains are followed, and an invalid line is an error with its number") {
  RenameTable far = RenameTable::for_releases(Release::v0_12, Release::v0_14);
  Graph graph;
  graph.set_release(Release::v0_14);
  UOp loop = graph.node(Op::RANGE, dtypes::index, graph.node(Op::CONST, dtypes::index, {}, 4),
                        graph.tuple({Arg(0), Arg(AxisType::LOOP)}));
  UOp now = far.rename_graph(loop);
  CHECK(now.dtype().repr() == "dtypes.weakint");
  CHECK(now.arg().repr() == "(0, AxisType.WEAK)");
  auto own = RenameTable::read("# ours\nop OLD NEW\nstage \"a b\" \"c d\"\n", "t");
  REQUIRE(own);
  CHECK(own->stage_after_renames("a b") == "c d");
  auto wrong = RenameTable::read("op OLD NEW\nnothing\n", "t");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.diag().line == 2);
}

TEST_CASE("diff: buffers of a schedule of 0.14 may have other numbers, but each node keeps its buffer") {
  Graph graph;
  auto sums = [&](int first, int second, int third, int size) {
    std::string nodes = R"j({"op":"CONST","dtype":"dtypes.weakint","arg":)j" + std::to_string(size) + "}";
    for (int number : {first, second, third})
      nodes += R"j(,{"op":"BUFFER","dtype":"dtypes.float","src":[0],"arg":{"ParamArg":{"*":[)j" +
               std::to_string(number) + R"j(,{"value":"dtypes.float"}],"device":"CPU"}}})j";
    for (const char* both : {"[1,2]", "[2,3]", "[1,3]"})
      nodes += std::string(R"j(,{"op":"ADD","dtype":"dtypes.float","src":)j") + both + "}";
    return read(graph, nodes + R"j(,{"op":"SINK","dtype":"dtypes.void","src":[4,5,6]})j", "tinygrad 0.14.0");
  };
  CHECK(diff_graphs(sums(1, 2, 3, 4), sums(1, 5, 7, 4)).is_same);
  CHECK(!diff_graphs(sums(1, 2, 3, 4), sums(1, 5, 7, 8)).is_same);
  CHECK(!diff_graphs(sums(1, 2, 3, 4), sums(1, 2, 2, 4)).is_same);
}

TEST_CASE("Renames: kernel names lose their distinguishing number") {
  CHECK(plain_kernel_name("E\x1b[90m_\x1b[0m\x1b[97m2\x1b[0m\x1b[90mn2\x1b[0m") == "E_2");
  CHECK(plain_kernel_name("r_16_16") == "r_16_16");
  CHECK(plain_kernel_name("E_4n12") == "E_4");
  CHECK(plain_kernel_name("scan2") == "scan2");  // a name of the user, without tinygrad's suffix
  CHECK(plain_kernel_name("E_len2") == "E_len2");
}

TEST_CASE("Renames: texts of graphs and sources lose the numbers of kernel names, and nothing else") {
  for (std::string text : {"void r_5_11*(int* E_4*) {",
                           "name='E\\x1b[90m_\\x1b[0m\\x1b[97mlen1\\x1b[0m\\x1b[90m*\\x1b[0m', x",
                           "name='E_3*')", "xE_4n1 E_n1 E_4n1x an1 r_4n min1"}) {
    std::string plain = text, numbered = text;
    for (std::string* t : {&plain, &numbered})
      for (size_t at = 0; (at = t->find("*", at)) != t->npos; at++)
        if (t->compare(at, 2, "* ") != 0) t->replace(at, 1, t == &plain ? "" : "n12");
    CHECK(remove_name_counters(numbered) == plain);
    CHECK(remove_name_counters(plain) == plain);
  }
}

}  // namespace
}  // namespace tgc
