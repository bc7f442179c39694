// Tests testdata/graph.schema.json, which scripts/graph_schema writes: the schema must accept all JSON that tgc writes
// and reject JSON that is not a graph. The validator below implements only the keywords that this schema uses.
#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "lib/support/testing.h"
#include "lib/text/golden.h"
#include "lib/text/graph_json.h"
#include "lib/text/pyrender.h"
#include "lib/text/repro.h"

using namespace tgc;
using nlohmann::json;

namespace {

class Schema {
 public:
  explicit Schema(const std::string& name = "graph") { std::ifstream(test_path(name + ".schema.json")) >> root_; }

  // Returns the path of the first invalid part of `value`; empty if `value` is valid.
  std::string trouble(const json& value) const { return trouble(root_, value, ""); }

 private:
  static bool is_a(const json& v, const std::string& type) {
    if (type == "integer") return v.is_number_integer();
    if (type == "number") return v.is_number();
    if (type == "string") return v.is_string();
    if (type == "boolean") return v.is_boolean();
    if (type == "null") return v.is_null();
    return type == "array" ? v.is_array() : v.is_object();
  }

  // True if the JSON Schema keyword `word` applies to values of v's type: "minItems" applies only to arrays.
  static bool speaks_of(const std::string& word, const json& v) {
    if (word == "items" || word == "minItems") return v.is_array();
    if (word == "properties" || word == "required") return v.is_object();
    return word == "pattern" ? v.is_string() : word == "minimum" ? v.is_number() : true;
  }

  std::string trouble(const json& s, const json& v, const std::string& at) const {
    for (auto& [word, of] : s.items()) {
      if (!speaks_of(word, v)) continue;
      std::string found;
      if (word == "$ref") found = trouble(root_.at(json::json_pointer(of.get<std::string>().substr(1))), v, at);
      else if (word == "type") found = is_a(v, of) ? "" : at + " is no " + of.get<std::string>();
      else if (word == "const") found = v == of ? "" : at + " is not " + of.dump();
      else if (word == "enum") found = std::count(of.begin(), of.end(), v) ? "" : at + " is " + v.dump();
      else if (word == "minimum") found = v >= of ? "" : at + " is " + v.dump();
      else if (word == "minItems") found = v.size() >= of ? "" : at + " has " + std::to_string(v.size()) + " items";
      else if (word == "pattern")
        found = std::regex_search(v.get<std::string>(), pattern(of)) ? "" : at + " is " + v.dump();
      else if (word == "items") found = items(of, v, at);
      else if (word == "properties") found = members(s, of, v, at);
      else if (word == "additionalProperties" && !s.contains("properties") && v.is_object())
        found = members(s, json::object(), v, at);
      else if (word == "required") found = required(of, v, at);
      else if (word == "anyOf") found = any(of, v, at);
      else if (word == "allOf") for (auto& each : of) found = found.empty() ? conditional(each, v, at) : found;
      else if (word != "additionalProperties" && word != "definitions" && word != "$schema" && word != "title")
        found = "unknown word " + word;
      if (!found.empty()) return found;
    }
    return {};
  }

  std::string items(const json& of, const json& v, const std::string& at) const {
    for (size_t i = 0; i < v.size(); i++)
      if (!of.is_array() || i < of.size())
        if (auto found = trouble(of.is_array() ? of[i] : of, v[i], at + "/" + std::to_string(i)); !found.empty())
          return found;
    return {};
  }
  std::string members(const json& s, const json& of, const json& v, const std::string& at) const {
    for (auto& [name, member] : v.items()) {
      const json* rule = of.contains(name)                    ? &of[name]
                         : s.contains("additionalProperties") ? &s["additionalProperties"]
                                                              : nullptr;
      if (rule && *rule == false) return at + " has the member " + name;
      if (rule && rule->is_object())
        if (auto found = trouble(*rule, member, at + "/" + name); !found.empty()) return found;
    }
    return {};
  }
  static std::string required(const json& of, const json& v, const std::string& at) {
    for (auto& name : of)
      if (!v.contains(name)) return at + " has no " + name.get<std::string>();
    return {};
  }
  std::string any(const json& of, const json& v, const std::string& at) const {
    for (auto& each : of)
      if (trouble(each, v, at).empty()) return {};
    return at + " is " + v.dump().substr(0, 80);
  }
  std::string conditional(const json& s, const json& v, const std::string& at) const {
    if (trouble(s["if"], v, at).empty()) return trouble(s["then"], v, at);
    return s.contains("else") ? trouble(s["else"], v, at) : "";
  }

  // Returns the compiled regular expression `text`. Caches it, because compiling takes longer than matching.
  const std::regex& pattern(const std::string& text) const {
    return patterns_.try_emplace(text, text).first->second;
  }

  json root_;
  mutable std::map<std::string, std::regex> patterns_;
};

}  // namespace

TEST_CASE("JSON Schema: the JSON of every graph in the golden records is valid") {
  Schema schema;
  size_t graphs = 0;
  for (const char* file : {"kernels", "tensor", "IMAGE-1", "TC_OPT-2"}) {
    auto reader = GoldenReader::open(test_path("golden/") + file + ".jsonl.gz");
    REQUIRE(reader.ok());
    for (size_t n = 0; n < 25; n++) {
      auto record = reader->next();
      REQUIRE(record.ok());
      if (!*record) break;
      for (auto& stage : (*record)->stages) {
        if (!stage.ir) continue;
        Graph g;
        UOp root = read_pyrender(g, *stage.ir).value_or_throw();
        GraphInfo info{.name = (*record)->id,
                       .stage = stage.name,
                       .target = (*record)->target,
                       .settings = reader->header().settings};
        INFO((*record)->id, " ", stage.name);
        REQUIRE(schema.trouble(json::parse(graph_to_json(root, info))) == "");
        graphs++;
      }
    }
  }
  CHECK(graphs > 300);
}

TEST_CASE("JSON Schema: a repro bundle is valid, and invalid without its graph") {
  Schema schema("repro");
  Graph g;
  UOp root = g.sink({});
  Repro repro{.symptom = "wrong", .said = "a line", .device = "CPU:LLVM", .variables = {{"i", -3}},
              .tolerance = {{"rtol", 1e-5}}, .inputs = {{"data1", dtypes::float16, {2, 1}, std::string(4, 'x')}}};
  repro.blamed["rule"] = "add-zero", repro.made_by["tgc"] = "0.1.0";
  json written = json::parse(repro_to_json(repro, graph_to_json(root)));
  CHECK(schema.trouble(written) == "");
  written["inputs"]["data1"]["hex"] = "0g";
  CHECK(schema.trouble(written) == "/inputs/data1/hex is \"0g\"");
  written["inputs"].clear(), written.erase("graph");
  CHECK(schema.trouble(written) == " has no graph");
}

TEST_CASE("JSON Schema: JSON that is not a graph is invalid") {
  Schema schema;
  auto graph = [&](const std::string& nodes) {
    return schema.trouble(json::parse(R"({"format":"tgc-graph","version":1,"nodes":[)" + nodes + "]}"));
  };
  CHECK(graph(R"({"op":"CONST","dtype":"dtypes.int","arg":3})") == "");
  CHECK(graph(R"({"op":"CONST","dtype":"dtypes.int"})") == "/nodes/0 has no arg");
  CHECK(graph(R"({"op":"CONST","dtype":"dtypes.int","arg":"3"})").starts_with("/nodes/0/arg is"));
  CHECK(graph(R"({"op":"CNST","dtype":"dtypes.int","arg":3})") == "/nodes/0/op is \"CNST\"");
  CHECK(graph(R"({"op":"RANGE","dtype":"dtypes.int","src":[0],"arg":[1]})") == "/nodes/0/arg has 1 items");
  CHECK(graph(R"({"op":"REDUCE","dtype":"dtypes.int","src":["a"],"arg":{"value":"Ops.ADD"}})") ==
        "/nodes/0/src/0 is no integer");
  CHECK(graph("") == "/nodes has 0 items");
}

TEST_CASE("JSON Schema: new ops and objects are valid if the producer is another release") {
  Schema schema;
  auto graph = [&](const std::string& producer, const std::string& node) {
    std::string head = R"({"format":"tgc-graph","version":1,"producer":")" + producer + R"(","nodes":[)";
    return schema.trouble(json::parse(head + node + "]}"));
  };
  const std::string param =
      R"({"op":"PARAM","dtype":"dtypes.weakint","arg":{"ParamArg":{"*":[0,{"value":"dtypes.int"}],"device":"CPU"}}})";
  CHECK(graph("tinygrad 0.14.0", param) == "");
  CHECK(graph("somebody", R"({"op":"TELEPORT","dtype":"dtypes.fp4","src":[],"tag":[{"raw":"<thing>"}]})") == "");
  CHECK(graph("tinygrad 0.14.0", R"({"op":"PARAM"})") == "/nodes/0 has no dtype");
  CHECK(graph("tinygrad 0.14.0", R"({"op":"PARAM","dtype":"dtypes.int","arg":{"a":1}})").starts_with("/nodes/0/arg is"));
  CHECK(graph("tinygrad 0.12.0", R"({"op":"PARAM","dtype":"dtypes.int"})") == "/nodes/0/op is \"PARAM\"");
}
