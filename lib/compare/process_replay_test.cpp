#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>

#include "lib/compare/process_replay.h"
#include "lib/support/testing.h"
#include "lib/text/graph_json.h"

namespace tgc {

namespace {

// A graph of tinygrad 0.14, as JSON text with escaped quotes.
std::string graph_storing(const std::string& value) {
  return R"({\"format\":\"tgc-graph\",\"version\":1,\"producer\":\"tinygrad 0.14.0\",\"nodes\":[)"
         R"({\"op\":\"PARAM\",\"dtype\":\"dtypes.float\",\"arg\":0},)"
         R"({\"op\":\"CONST\",\"dtype\":\"dtypes.weakfloat\",\"arg\":)" +
         value + R"(},{\"op\":\"STORE\",\"dtype\":\"dtypes.void\",\"src\":[0,1]}]})";
}

struct Record {
  std::string id, name, value, asked_by = "", source = "", target = "CPU:CLANG";
};

std::string recording(const std::string& name, std::initializer_list<Record> records) {
  auto path = std::filesystem::temp_directory_path() / ("tgc_process_replay." + std::to_string(getpid()) + name);
  std::ofstream out(path);
  out << R"({"format":"tgc-golden","version":1,"level":"kernel","producer":"tinygrad 0.14.0","settings":{}})" << "\n";
  for (const Record& r : records)
    out << R"({"id":")" << r.id << R"(","target":")" << r.target << R"(","nodes":3,"ast":")" << graph_storing(r.value)
        << R"(","source":")" << r.source << R"(","program":{"name":")" << r.name << R"(","function_name":")" << r.name
        << "\"}" << (r.asked_by.empty() ? "" : ",\"asked_by\":[\"" + r.asked_by + "\"]") << R"(,"stages":[]})" << "\n";
  return path;
}

Result<ReplayDiff> try_diff_of(std::initializer_list<Record> a, std::initializer_list<Record> b) {
  std::string in_a = recording("a", a), in_b = recording("b", b);
  auto diff = diff_recordings(Session(), in_a, in_b, {});
  std::filesystem::remove(in_a), std::filesystem::remove(in_b);
  return diff;
}
ReplayDiff diff_of(std::initializer_list<Record> a, std::initializer_list<Record> b) {
  return try_diff_of(a, b).value_or_throw();
}

std::string pairs_of(const ReplayDiff& d) {
  std::string out;
  for (const ReplayPair& p : d.differing_pairs) out += p.id_a + "-" + p.id_b + " ";
  return out;
}

TEST_CASE("process replay: an additional record does not shift the alignment") {
  ReplayDiff d = diff_of({{"k0", "E_1", "1.0"}, {"k1", "E_2", "2.0"}},
                         {{"k0", "E_9", "9.0"}, {"k1", "E_1", "1.0"}, {"k2", "E_2", "2.0"}});
  CHECK(d.num_same == 2);
  CHECK(d.num_different == 0);
  CHECK(d.names_only_in_b == std::vector<std::string>{"k0 (E_9)"});
}

TEST_CASE("process replay: differing records are aligned by source, program lines, name, then id") {
  CHECK(pairs_of(diff_of({{"k0", "E_1", "1.0", "", "f E_1()"}, {"k1", "E_1n1", "2.0", "", "g E_1n1()"}},
                         {{"k0", "E_1", "3.0", "", "g E_1()"}, {"k1", "E_1n1", "4.0", "", "f E_1n1()"}})) ==
        "k0-k1 k1-k0 ");
  CHECK(pairs_of(diff_of({{"k0", "E_1", "1.0", "p.py:1"}, {"k1", "E_1", "2.0", "p.py:2"}},
                         {{"k0", "E_1", "3.0", "p.py:2"}, {"k1", "E_1", "4.0", "p.py:1"}})) == "k0-k1 k1-k0 ");
  CHECK(pairs_of(diff_of({{"k0", "E_1", "1.0"}, {"k1", "E_2", "2.0"}},
                         {{"k0", "E_2", "3.0"}, {"k1", "E_1", "4.0"}})) == "k0-k1 k1-k0 ");
  CHECK(pairs_of(diff_of({{"k0", "", "1.0"}, {"k1", "", "2.0"}}, {{"k0", "", "3.0"}, {"k1", "", "4.0"}})) ==
        "k0-k0 k1-k1 ");
}

TEST_CASE("process replay: targets match by device and renderer unless a side has several of them") {
  auto record = [](const char* id, const char* value, const char* target) {
    return Record{.id = id, .name = "E_1", .value = value, .target = target};
  };
  ReplayDiff one = diff_of({record("k0", "1.0", "CL:CL"), record("k1", "2.0", "CL:CL")},
                           {record("k0", "1.0", "CL:CL:cl_khr_fp64"), record("k1", "3.0", "CL:CL:cl_khr_fp64")});
  CHECK(one.num_same == 1);
  CHECK(pairs_of(one) == "k1-k1 ");
  ReplayDiff two = diff_of({record("k0", "1.0", "CUDA:CUDA:sm_80"), record("k0", "2.0", "CUDA:CUDA:sm_90")},
                           {record("k0", "2.0", "CUDA:CUDA:sm_80"), record("k0", "1.0", "CUDA:CUDA:sm_90")});
  CHECK(two.num_same == 0);
  CHECK(two.num_different == 2);
  auto none = try_diff_of({record("k0", "1.0", "CPU:CLANG")}, {record("k7", "1.0", "CPU:LLVM")});
  REQUIRE_FALSE(none);
  CHECK(none.diag().message.find(": 1 record for CPU:CLANG: k0") != std::string::npos);
  CHECK(none.diag().message.find(": 1 record for CPU:LLVM: k7") != std::string::npos);
}

TEST_CASE("process replay: the summary has one line per group of causes") {
  ReplayDiff d = diff_of({{"k0", "E_1", "1.0"}, {"k1", "E_2", "2.0"}, {"k2", "E_3", "3.0"}},
                         {{"k0", "E_1", "4.0"}, {"k1", "E_2", "5.0"}, {"k2", "E_3", "3.0"}});
  const std::string text = d.text(0);
  CAPTURE(text);
  CHECK(text.starts_with("3 compared, 1 the same, 2 different, but 2 of these come to the same source\n"
                         "where they first differ:\n       2  ast: "));
  const std::string_view row = "       2  STORE: value  (2 by this alone; as in k0)\n";
  CHECK(text.find(std::string(row) + "          changed STORE: value 1.0 -> 4.0\n") != std::string::npos);
  CHECK(d.as_json().find("\"by_cause\":{\"STORE: value\":2}") != std::string::npos);
}

TEST_CASE("process replay: the fields of a KernelInfo of 0.12.0 are compared one by one") {
  auto diff = diff_recordings(Session(), test_path("golden/NOLOCALS-1.jsonl.gz"),
                              test_path("golden/TRANSCENDENTAL-2.jsonl.gz"), {});
  REQUIRE(diff.ok());
  CHECK(diff->text(0).find("SINK: arg dont_use_locals; SINK: arg name") != std::string::npos);
}

// The nodes by number: 0 is the constant 1, 1 the constant 2, 2 the sum of nodes 0 and 1, 3 a parameter, 4 and 5 the
// sums of the parameter and node 0 or 1, 6 the SINK of node 2, 7 the SINK of node 1.
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
  // One recording's result is a constant, the other's a sum.
  ReplayCulprit culprit(const std::string& matches_a, const std::string& matches_b) {
    auto record = [](const std::string& matches) {
      GoldenRecord out;
      out.stages.resize(1);
      out.stages[0].name = "simplify";
      out.rewrites_json = R"({"nodes":[)" + std::string(kNodes) + R"(],"list":[)" + matches + "]}";
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
  CHECK(unknown.first_match_rule == "uop/symbolic.py:1");
}

}  // namespace

}  // namespace tgc
