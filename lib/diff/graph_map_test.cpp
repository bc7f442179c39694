// Tests GraphMap, which converts the JSON graphs of another compiler by a table such as testdata/maps/svod.map.
#include <doctest/doctest.h>

#include "lib/diff/run_diff.h"
#include "lib/records/input_file.h"
#include "lib/support/testing.h"
#include "lib/text/graph_map.h"

namespace tgc {
namespace {

GraphMap svod() { return *GraphMap::read(*read_file(test_path("maps/svod.map")), "svod.map"); }

// A kernel that multiplies 24 floats by 3, in the JSON of Svod, a port of tinygrad's compiler.
const char* kTriple = R"({"schema_version":7,"stage":"kernel","roots":[9],"nodes":[
{"id":0,"op":"CONST","dtype":{"kind":"scalar","name":"weakint"},"shape":[],"arg":{"kind":"const","value":{"kind":"int","value":24}},"src":[]},
{"id":1,"op":"PARAM","dtype":{"kind":"scalar","name":"float32"},"shape":[],"arg":{"kind":"param","slot":3,"dtype":{"kind":"scalar","name":"float32"},"vmin_vmax":null,"multiple_of":null,"name":null,"address_space":"global","axis":null,"device":null,"volatile":false},"src":[0]},
{"id":2,"op":"RANGE","dtype":{"kind":"scalar","name":"weakint"},"shape":[],"arg":{"kind":"range","axis":[2],"renumbered":false,"axis_type":"LOOP"},"src":[0]},
{"id":3,"op":"INDEX","dtype":{"kind":"scalar","name":"float32"},"shape":[],"arg":{"kind":"none"},"src":[1,2]},
{"id":4,"op":"LOAD","dtype":{"kind":"scalar","name":"float32"},"shape":[],"arg":{"kind":"none"},"src":[3]},
{"id":5,"op":"CONST","dtype":{"kind":"scalar","name":"float32"},"shape":[],"arg":{"kind":"const","value":{"kind":"float","bits":"0x4008000000000000"}},"src":[]},
{"id":6,"op":"MUL","dtype":{"kind":"scalar","name":"float32"},"shape":[],"arg":{"kind":"none"},"src":[4,5]},
{"id":7,"op":"STORE","dtype":{"kind":"scalar","name":"void"},"shape":[],"arg":{"kind":"none"},"src":[3,6]},
{"id":8,"op":"END","dtype":{"kind":"scalar","name":"void"},"shape":[],"arg":{"kind":"none"},"src":[7,2]},
{"id":9,"op":"SINK","dtype":{"kind":"scalar","name":"void"},"shape":null,"arg":{"kind":"none"},"src":[8]}]})";

TEST_CASE("GraphMap: a kernel in Svod's canonical JSON is read as tinygrad's graph") {
  auto ours = svod().to_tgc_json(kTriple);
  REQUIRE(ours);
  const char* tinygrad = R"({"format":"tgc-graph","version":1,"producer":"tinygrad 0.14","nodes":[
{"op":"CONST","dtype":"dtypes.weakint","arg":24},
{"op":"PARAM","dtype":"dtypes.float","src":[0],"arg":{"ParamArg":{"*":[3,{"value":"dtypes.float"}]}}},
{"op":"RANGE","dtype":"dtypes.weakint","src":[0],"arg":[2,{"value":"AxisType.LOOP"}]},
{"op":"INDEX","dtype":"dtypes.float","src":[1,2]},
{"op":"LOAD","dtype":"dtypes.float","src":[3]},
{"op":"CONST","dtype":"dtypes.float","arg":3.0},
{"op":"MUL","dtype":"dtypes.float","src":[4,5]},
{"op":"STORE","dtype":"dtypes.void","src":[3,6]},
{"op":"END","dtype":"dtypes.void","src":[7,2]},
{"op":"SINK","dtype":"dtypes.void","src":[8]}
]})";
  Graph graph;
  auto sides = read_graph_pair(graph, {tinygrad, "tinygrad"}, {*ours, "svod"});
  INFO(*ours);
  REQUIRE(sides);
  CHECK(diff_graphs(sides->first, sides->second).is_same);

  std::string other = kTriple;
  other.replace(other.find("0x4008"), 6, "0x4018");
  const std::string mapped = svod().to_tgc_json(other).value_or_throw();
  auto changed = read_graph_pair(graph, {tinygrad, "tinygrad"}, {mapped, "svod"});
  REQUIRE(changed);
  CHECK_FALSE(diff_graphs(changed->first, changed->second).is_same);
}

TEST_CASE("GraphMap: args can be members, lists, defaults, omitted or missing") {
  auto map = GraphMap::read(
      "arg point {\"Point\":{\"*\":[\"$x\"],\"y?\":\"$y\",\"how?Way.ON\":\"$how=Way.OFF\"}}\n"
      "arg list [1,\"$of...\",{\"value\":\"A.{name}\"}]\narg bits \"$b:f64\"\n"
      "arg few [\"$of?\",\"$name='none'\"]\nvalue on Way.ON\n",
      "m");
  REQUIRE(map);
  auto arg = [&](const std::string& json) -> std::string {
    auto text = map->to_tgc_json(R"({"nodes":[{"op":"NOOP","dtype":"void","arg":)" + json + "}]}");
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
