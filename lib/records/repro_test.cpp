#include "lib/records/repro.h"

#include "lib/records/read_graph.h"
#include "lib/records/testing.h"

using namespace tgc;

namespace {

const std::string kGraph =
    R"("graph":{"format":"tgc-graph","version":1,"nodes":[{"op":"SINK","dtype":"dtypes.void"}]})";

std::string error_with(const std::string& members) {
  Graph g;
  return error_text_of(read_graph(g, InputKind::Repro, "{\"format\":\"tgc-repro\",\"version\":1," + members + "}"));
}

}  // namespace

TEST_CASE("repro: all members survive a round trip") {
  Graph g;
  Repro repro{.symptom = "wrong",
              .description = "3 of 4 differ",
              .device = "REF",
              .seeded_fault = "add-zero@3",
              .blamed_rewrite = {{"rule", "add-zero"}},
              .variables = {{"i", -5}},
              .tolerance = {{"rtol", 0.001}},
              .inputs = {{"data1", dtypes::int16, {2, 1}, std::string("\x01\x00\xff\x7f", 4)}},
              .expected = {{"data0", dtypes::bool_, {0}, ""}},
              .made_by = {{"tgc", "0.1.0"}}};
  UOp root = g.sink(g.constant(dtypes::int32, 7));
  std::string text =
      repro_to_json(repro, graph_to_json(root, {.name = "k", .stage = "expander", .target = "CPU:LLVM"}));
  CHECK(detect_input_kind(text) == InputKind::Repro);
  Graph h;
  GraphReadReport report;
  auto read = read_graph(h, InputKind::Repro, text, "", &report);
  REQUIRE(read.ok());
  CHECK(read->info.stage == "expander");
  CHECK(read->root.src(0).arg() == Arg(7));
  CHECK(report.repro->inputs[0].bytes == repro.inputs[0].bytes);
  CHECK(report.repro->inputs[0].dtype == dtypes::int16);
  CHECK(repro_to_json(*report.repro, graph_to_json(read->root, read->info)) == text);
}

TEST_CASE("repro: errors have a position") {
  CHECK(error_with(kGraph) == "none");
  CHECK(error_with("\"said\":\"x\"").find("the bundle holds no graph") != std::string::npos);
  auto array = [](const std::string& members) {
    return error_with("\"inputs\":{\"a\":{" + members + "}}," + kGraph);
  };
  CHECK(array(R"("dtype":"dtypes.float","shape":[1],"hex":"0000803f")") == "none");
  CHECK(array(R"("dtype":"dtypes.float","shape":[2],"hex":"0000803f")").find("has 4 bytes") != std::string::npos);
  CHECK(array(R"("dtype":"dtypes.float","shape":[0,9223372036854775807],"hex":"")") == "none");
  CHECK(array(R"("dtype":"dtypes.float","shape":[9223372036854775807,3],"hex":"")").find("what its shape says") !=
        std::string::npos);
  CHECK(array(R"("dtype":"dtypes.float","shape":[-1],"hex":"")").find("invalid array size") != std::string::npos);
  CHECK(array(R"("dtype":"dtypes.float","shape":[1],"hex":"0000803")").find("hexadecimal") != std::string::npos);
  CHECK(array(R"("dtype":"dtypes.index","shape":[],"hex":"")").find("dtypes.float") != std::string::npos);
  CHECK(array(R"("shape":[],"hex":"")").find("without a dtype") != std::string::npos);
  CHECK(error_with("\"tolerance\":{\"rtol\":-1}," + kGraph).find("0 or more") != std::string::npos);
  Graph g;
  auto other = read_graph(g, InputKind::Repro, "{\"format\":\"tgc-repro\",\"version\":2," + kGraph + "}");
  CHECK(error_text_of(other).find("version '2'") != std::string::npos);
}

TEST_CASE("repro: an error in the graph has its line in the bundle") {
  std::string text =
      "{\"format\":\"tgc-repro\",\"version\":1,\n\"graph\":{\"format\":\"tgc-graph\",\"version\":1,\"nodes\":[\n"
      "{\"op\":\"NO\",\"dtype\":\"dtypes.void\"}]}}";
  Graph g;
  auto read = read_graph(g, InputKind::Repro, text, "f");
  REQUIRE(!read.ok());
  CHECK(read.diag().line == 3);
}
