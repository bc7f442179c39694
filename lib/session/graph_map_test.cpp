// Svod's canonical JSON by testdata/maps/svod.map: each of its fixtures is the very graph that tinygrad had.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lib/inspect/run_diff.h"
#include "lib/support/testing.h"
#include "lib/text/graph_map.h"
#include "lib/text/input_file.h"

namespace tgc {
namespace {

GraphMap svod() { return *GraphMap::read(*read_file(test_path("maps/svod.map")), "svod.map"); }

// tinygrad's graph without what the canonical form leaves out: colours of names, tags.
std::string without_colours(const std::string& graph) {
  auto json = nlohmann::ordered_json::parse(graph);
  for (auto& node : json["nodes"]) {
    node.erase("tag");
    if (!node.contains("arg") || !node["arg"].is_object() || !node["arg"].contains("KernelInfo")) continue;
    auto& name = node["arg"]["KernelInfo"]["name"];
    std::string plain, text = name.get<std::string>();
    for (size_t i = 0; i < text.size(); i++)
      if (text[i] == '\x1b') i = text.find('m', i);
      else plain += text[i];
    name = plain;
  }
  return json.dump();
}

TEST_CASE("GraphMap: Svod's fixtures read as the graphs that tinygrad had, but for what they do not say") {
  auto lines = LineReader::open(test_path("maps/svod_fixtures.jsonl.gz"));
  REQUIRE(lines);
  GraphMap map = svod();
  size_t read = 0, same = 0;
  std::vector<std::string> others;
  for (std::string line; (*lines)->next(line).value_or_throw();) {
    auto json = nlohmann::ordered_json::parse(line);
    std::string name = json["name"];
    CAPTURE(name);
    auto ours = map.to_tgc(json["canonical"].dump());
    REQUIRE(ours);
    Graph graph;
    auto sides = read_alike(graph, without_colours(json["graph"]), "tinygrad", *ours, "svod");
    REQUIRE(sides);
    read++;
    GraphDiff diff = diff_graphs(sides->first, sides->second);
    if (diff.same) same++;
    else others.push_back(name);
  }
  CHECK(read == 37);
  // A PAD has one source there, and a WMMA without axes empty ones.
  CHECK(others == std::vector<std::string>{"padded_reduction", "local_wmma_staging"});
  CHECK(same == 35);
}

TEST_CASE("GraphMap: forms of args: members, lists, defaults, what is left out, what is missing") {
  auto map = GraphMap::read(
      "arg point {\"Point\":{\"*\":[\"$x\"],\"y?\":\"$y\",\"how?Way.ON\":\"$how=Way.OFF\"}}\n"
      "arg list [1,\"$of...\",{\"value\":\"A.{name}\"}]\narg bits \"$b:f64\"\n"
      "arg few [\"$of?\",\"$name='none'\"]\nvalue on Way.ON\n",
      "m");
  REQUIRE(map);
  auto arg = [&](const std::string& json) -> std::string {
    auto text = map->to_tgc(R"({"nodes":[{"op":"NOOP","dtype":"void","arg":)" + json + "}]}");
    if (!text) return "";
    size_t at = text->find("\"arg\":");
    return at == text->npos ? "none" : text->substr(at + 6, text->rfind('}', text->size() - 4) - at - 6);
  };
  CHECK(arg(R"({"kind":"point","x":3,"y":false,"how":"on"})") == R"({"Point":{"*":[3]}})");
  CHECK(arg(R"({"kind":"point","x":3,"y":4,"how":null})") == R"({"Point":{"*":[3],"y":4,"how":{"value":"Way.OFF"}}})");
  CHECK(arg(R"({"kind":"list","of":[2,3],"name":"B"})") == R"([1,2,3,{"value":"A.B"}])");
  CHECK(arg(R"({"kind":"bits","b":"0x8000000000000000"})") == "-0.0");
  CHECK(arg(R"({"kind":"bits","b":"0x7ff0000000000000"})") == R"({"float":"inf"})");
  CHECK(arg(R"({"kind":"bits","b":"zero"})") == "");
  CHECK(arg(R"({"kind":"few","of":[],"name":null})") == R"([null,"none"])");
  CHECK(arg(R"({"kind":"few","of":[1],"name":"x"})") == R"([[1],"x"])");
  CHECK(arg(R"({"kind":"point","x":3})") == "");
  CHECK(arg(R"({"kind":"none of these","x":[{"z":1}]})") ==
        R"({"object":{"kind":"none of these","x":[{"object":{"z":1}}]}})");
  CHECK_FALSE(GraphMap::read("arg point {\"x\":\n", "m"));
}

}  // namespace
}  // namespace tgc
