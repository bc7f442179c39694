#include "lib/import/known_ops.h"

#include <doctest/doctest.h>

#include "lib/import/import.h"
#include "lib/text/graph_json.h"
#include "lib/uop/release.h"

using namespace tgc;

namespace {

std::string trouble(std::string_view rows) {
  const std::string head = R"({"format":"tgc-upgrades","version":1,"ops":[)";
  auto status = load_op_upgrades(head + std::string(rows) + "]}", "f.json");
  return status ? "none" : status.diag().text();
}

}  // namespace

TEST_CASE("known ops: rows say what an op is, and nodes without one below stay") {
  Graph graph;
  graph.set_release(Release::Other);
  UOp x = graph.node(Op::PARAM, dtypes::int32, {}, 0), y = graph.node(Op::PARAM, dtypes::int32, {}, 1);
  auto new_op = [&](const char* name, std::vector<UOp> src, Arg arg = {}) {
    return graph.node(Op::OTHER, dtypes::int32, src, other_node_arg(graph, name, arg));
  };
  UOp square = new_op("T_SQUARE", {y}), fma = new_op("T_FMA", {x, square, y});
  UOp sum = graph.node(Op::ADD, dtypes::int32, {fma, x});
  CHECK(KnownOps().replace_nodes(sum) == sum);
  REQUIRE(trouble(R"({"op":"T_SQUARE","is":"MUL","src":[0,0]},
    {"op":"T_FMA","is":"ADD","src":[{"is":"MUL","src":[0,1]},2],"since":"0.14"},
    {"op":"T_PARAM","is":"PARAM","arg":{"item":1}},
    {"op":"T_PARAM","is":"PARAM","arg":{"field":"slot"},"dtype":"dtypes.bool"},
    {"op":"T_LIST","is":"RANGE","arg":[{"field":"slot"},{"value":"AxisType.LOOP"},3,"a",null]})") == "none");
  KnownOps known;
  UOp product = graph.node(Op::MUL, dtypes::int32, {y, y});
  UOp made = known.replace_nodes(sum);
  UOp twice = graph.node(Op::MUL, dtypes::int32, {x, product});
  CHECK(made == graph.node(Op::ADD, dtypes::int32, {graph.node(Op::ADD, dtypes::int32, {twice, y}), x}));
  CHECK(known.original(made) == sum);
  CHECK(known.original(product) == square);
  CHECK(known.original(x) == x);
  CHECK(known.replace_nodes(graph.node(Op::ADD, dtypes::int32, {x, y})).src(0) == x);

  CHECK(KnownOps().replace_nodes(new_op("T_PARAM", {}, graph.tuple({5, 7}))) ==
        graph.node(Op::PARAM, dtypes::int32, {}, 7));
  Arg record = graph.record(RecordClass::Open, std::vector<Arg>{graph.str("R"), graph.tuple({graph.str("slot")}), 4});
  CHECK(KnownOps().replace_nodes(new_op("T_PARAM", {}, record)) == graph.node(Op::PARAM, dtypes::bool_, {}, 4));
  UOp unfit = new_op("T_PARAM", {}, 3);
  CHECK(KnownOps().replace_nodes(unfit) == unfit);
  CHECK(KnownOps().replace_nodes(new_op("T_LIST", {}, record)).arg().repr() == "(4, AxisType.LOOP, 3, 'a', None)");

  Graph older;
  older.set_release(Release::v0_13);
  UOp z = older.node(Op::PARAM, dtypes::int32, {}, 0);
  UOp old = older.node(Op::OTHER, dtypes::int32, {z, z, z}, other_node_arg(older, "T_FMA", {}));
  CHECK(KnownOps().replace_nodes(old) == old);
}

TEST_CASE("known ops: a file that is none is refused, and no row makes an op that holds code") {
  CHECK(trouble(R"({"op":"A","is":"NONE"})").find("unknown op 'NONE'") != std::string::npos);
  CHECK(trouble(R"({"op":"A","is":"CUSTOM"})").find("holds code") != std::string::npos);
  CHECK(trouble(R"({"op":"A","is":"ADD","src":[{"is":"CUSTOMI"}]})").find("holds code") != std::string::npos);
  CHECK(trouble(R"({"op":"A","is":"ADD","sources":[]})").find("unknown member 'sources'") != std::string::npos);
  CHECK(trouble(R"({"op":"A-B","is":"ADD"})").find("expected a name") != std::string::npos);
  CHECK(trouble(R"({"op":"A","is":"ADD","src":[-1]})").find("a number from 0") != std::string::npos);
  CHECK(trouble(R"({"is":"ADD"})").find("without 'op'") != std::string::npos);
  CHECK(trouble(R"({"op":"ADD","dtype":"os.system"})").find("a dtype") != std::string::npos);
  CHECK_FALSE(load_op_upgrades("{}", "f.json"));
}
