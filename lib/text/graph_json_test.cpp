#include "lib/text/graph_json.h"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/text/pyrender.h"

using namespace tgc;

namespace {

std::string error_with(std::string_view text) {
  Graph g;
  auto file = graph_from_json(g, text, "in.json");
  if (file) return "none";
  std::string all = file.diag().text();
  return all.substr(0, all.find('\n'));
}

std::string with_nodes(const std::string& nodes) {
  return R"({"format":"tgc-graph","version":1,"nodes":[)" + nodes + "]}";
}

}  // namespace

TEST_CASE("JSON: every kind of arg survives a round trip with its type") {
  Graph g;
  static constexpr int64_t kShape[] = {2, 3, 4};
  UOp inner = g.sink({}, g.str("inside"));
  Arg args[] = {
      Arg(), true, false, 0, -5, Int::pow2(100), 1.0, -0.0, 0.1, INFINITY, -INFINITY, NAN, Const::invalid(),
      g.str("it's \"x\"\n\x1b"), g.bytes(std::string("\0\xFF", 2)), g.raw_arg("CustomKernel(panic)"),
      g.tuple({}), g.tuple({1, g.tuple({1.0, true}), Arg()}),
      Op::ADD, AxisType::REDUCE, AddrSpace::LOCAL, OptOps::UPCAST,
      dtypes::float32.vec(4).ptr(8), dtypes::imagef(kShape, 256), inner,
      g.record(RecordClass::Kernel,
               {inner, g.tuple({g.record(RecordClass::Metadata, {g.str("relu"), g.str("f"), true})})}),
      g.record(RecordClass::Opt, {OptOps::TC, 0, g.tuple({-1, 0, 1})}),
      g.record(RecordClass::KernelInfo, {g.str("n"), g.tuple({AxisType::LOOP}), false, g.tuple({}), Arg()}),
      g.record(RecordClass::BufferizeOpts, {g.str("CPU"), AddrSpace::GLOBAL, true})};
  std::vector<UOp> nodes;
  for (Arg a : args) nodes.push_back(g.node(Op::CUSTOM, dtypes::void_, {}, a, a));
  UOp root = g.sink(nodes);
  std::string text = graph_to_json(root);
  Graph h;
  auto back = graph_from_json(h, text);
  REQUIRE_MESSAGE(back.ok(), back.diag().text());
  CHECK(graph_to_json(back->root) == text);
  REQUIRE(back->root.num_src() == root.num_src());
  for (size_t i = 0; i < root.num_src(); i++) {
    CHECK(back->root.src(i).arg().kind() == root.src(i).arg().kind());
    CHECK(back->root.src(i).arg().repr() == root.src(i).arg().repr());
  }
}

TEST_CASE("JSON: names of classes and fields may have any characters") {
  Graph g, back;
  const std::string text = R"({"format":"tgc-graph","version":1,"producer":"tinygrad 0.14.0","nodes":[
{"op":"SINK","dtype":"dtypes.void","arg":{"a\u0001b":{"c\"d":1,"e\nf":{"x":{"*":[2]}}}}}
]}
)";
  UOp root = graph_from_json(g, text, "in.json").value_or_throw().root;
  std::string written = graph_to_json(root, {.producer = "tinygrad 0.14.0"});
  CHECK(written == text);
  CHECK(graph_from_json(back, written, "in.json").value_or_throw().root.arg().repr() == root.arg().repr());
}

TEST_CASE("JSON: keeps image pitches, list order and metadata") {
  Graph g;
  static constexpr int64_t kShape[] = {2, 3, 4};
  UOp image = g.node(Op::DEFINE_GLOBAL, dtypes::imagef(kShape, 512), {}, 0);
  UOp list[] = {image, g.constant(dtypes::int32, 1), g.sink({image})};
  std::string text =
      list_to_json(list, {.name = "k", .stage = "linear", .target = "CL:CL", .settings = {{"IMAGE", "2"}}});
  Graph h;
  auto back = graph_from_json(h, text);
  REQUIRE(back.ok());
  CHECK(back->list.size() == 3);
  CHECK(back->list[0].dtype() == image.dtype());
  CHECK(back->list[1].is_const());
  CHECK(back->info.target == "CL:CL");
  CHECK(back->info.settings.at("IMAGE") == "2");
  CHECK(list_to_json(back->list, back->info) == text);
}

TEST_CASE("JSON: rejects bad input") {
  std::string c = R"({"op":"CONST","dtype":"dtypes.int","arg":1})";
  CHECK(error_with("{}").find("the format ''") != std::string::npos);
  CHECK(error_with(R"({"format":"tgc-graph","version":2,"nodes":[]})").find("version '2'") != std::string::npos);
  CHECK(error_with(with_nodes("")).find("holds no graph") != std::string::npos);
  CHECK(error_with(with_nodes(R"({"op":"CONTS","dtype":"dtypes.int"})")).find("unknown op 'CONTS'") !=
        std::string::npos);
  CHECK(error_with(with_nodes(R"({"op":"CONST","dtype":"dtypes.x","arg":1})")).find("unknown dtype 'x'") !=
        std::string::npos);
  CHECK(error_with(with_nodes(c + R"(,{"op":"NEG","dtype":"dtypes.int","src":[1]})"))
        .find("found node 1, expected one of the nodes above") != std::string::npos);
  CHECK(error_with(with_nodes(R"({"op":"CONST","dtype":"dtypes.int","arg":{"uop":0}})")).find("found node 0") !=
        std::string::npos);
  CHECK(error_with(with_nodes(R"({"op":"NEG","dtype":"dtypes.int"})")).find("Ops.NEG with 0 sources") !=
        std::string::npos);
  CHECK(error_with(with_nodes(R"({"op":"SINK","dtype":"dtypes.void","arg":{"Opt":{"op":3}}})")).find("wrong types") !=
        std::string::npos);
  CHECK(error_with(R"({"texts":[{"text":{"format":"tgc-graph"}}]})").find("several graphs in one text") !=
        std::string::npos);
  CHECK(
      error_with(with_nodes(R"({"op":"SINK","dtype":"dtypes.void","arg":{"bytes":"0"}})")).find("malformed bytes") !=
      std::string::npos);
  CHECK(error_with(with_nodes(R"({"op":"SINK","dtype":"dtypes.void","tag":[{"raw":"os.abort"}]})"))
        .find("an argument of the kind raw, 'os.abort', expected data") != std::string::npos);
  CHECK(error_with(R"({"format":"tgc-graph",)")
        .starts_with("in.json:1:23: found the end of the input, expected a key in quotes"));
}
