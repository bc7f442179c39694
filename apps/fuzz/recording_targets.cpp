// The target "recordings": mutates graphs of other tinygrad releases, as JSON that stays valid, imports them, and
// compiles kernels. The input seeds the choice of graph and mutations.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "apps/fuzz/target.h"
#include "lib/driver/source.h"
#include "lib/import/import.h"
#include "lib/import/tensor_graph.h"
#include "lib/records/golden.h"
#include "lib/support/deadline.h"

namespace tgc::fuzz {
namespace {

using Json = nlohmann::ordered_json;

struct RecordGraphs {
  std::string producer;
  std::vector<std::string> graphs;  // tgc's JSON, or pyrender texts, which the target skips
};

std::vector<RecordGraphs> read_import_records() {
  std::vector<RecordGraphs> out;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TGC_SOURCE_DIR "/testdata/import"))
    if (entry.path().string().ends_with(".jsonl.gz")) paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const auto& path : paths) {
    auto reader = GoldenReader::open(path);
    require_condition(reader.ok(), path.string() + " cannot be read");
    while (true) {
      auto record = reader->next_record();
      require_condition(record.ok(), path.string() + " cannot be read");
      if (!*record) break;
      RecordGraphs& made = out.emplace_back(reader->header().producer, std::vector{(*record)->ast});
      for (const auto& kernel : (*record)->kernels) made.graphs.push_back(kernel.ast);
    }
  }
  return out;
}

const std::vector<RecordGraphs>& import_records() {
  static const std::vector<RecordGraphs> all = read_import_records();
  return all;
}

class JsonMutator {
 public:
  explicit JsonMutator(uint64_t seed) : random_(seed) {}

  size_t random_below(size_t n) { return n ? random_() % n : 0; }

  void mutate(Json& graph) {
    Json& nodes = graph["nodes"];
    if (!nodes.is_array() || nodes.empty()) return;
    for (size_t n = 1 + random_below(4); n > 0; n--) mutate_node(nodes[random_below(nodes.size())], nodes);
  }

 private:
  void mutate_node(Json& node, const Json& nodes) {
    const Json& other = nodes[random_below(nodes.size())];
    switch (random_below(8)) {
      case 0: if (other.contains("op")) node["op"] = other["op"]; break;
      case 1: if (other.contains("dtype")) node["dtype"] = mutated_dtype(other["dtype"]); break;
      case 2: if (other.contains("arg")) node["arg"] = other["arg"]; else node.erase("arg"); break;
      case 3: if (other.contains("src")) node["src"] = other["src"]; else node.erase("src"); break;
      case 4: mutate_list(node["src"]); break;
      default: mutate_value(node[random_below(2) ? "arg" : "src"], 0);
    }
  }
  Json mutated_dtype(const Json& dtype) {
    if (!dtype.is_string() || random_below(2)) return dtype;
    constexpr const char* kSuffixes[] = {".vec(0)", ".vec(4)", ".vec(70000)", ".ptr(0)", ".ptr(-1)",
                                         ".ptr(9223372036854775807)", ".vec(4).ptr(4)"};
    return dtype.get<std::string>() + kSuffixes[random_below(std::size(kSuffixes))];
  }
  void mutate_list(Json& list) {
    if (!list.is_array() || list.empty()) return;
    const size_t at = random_below(list.size());
    switch (random_below(4)) {
      case 0: list.erase(at); break;
      case 1: list.push_back(list[at]); break;
      case 2: std::swap(list[at], list[random_below(list.size())]); break;
      default: list[at] = edge_number();
    }
  }
  void mutate_value(Json& value, int depth) {
    if (value.is_array() && !value.empty() && depth < 5) {
      if (random_below(3) == 0) return mutate_list(value);
      return mutate_value(value[random_below(value.size())], depth + 1);
    }
    if (value.is_object() && !value.empty() && depth < 5) {
      auto field = value.begin();
      std::advance(field, random_below(value.size()));
      if (random_below(4) == 0) value.erase(field.key());
      else mutate_value(field.value(), depth + 1);
      return;
    }
    switch (random_below(6)) {
      case 0: value = nullptr; break;
      case 1: value = Json::array(); break;
      case 2: value = "x"; break;
      case 3: value = random_below(2) == 0; break;
      default: value = edge_number();
    }
  }
  int64_t edge_number() {
    constexpr int64_t kNumbers[] = {0, 1, -1, 2, 3, 4, 5, 7, 64, 255, 65536, 1 << 20, INT32_MAX, INT32_MIN,
                                    int64_t(INT32_MAX) + 1, int64_t(1) << 40, int64_t(1) << 62, INT64_MAX, INT64_MIN};
    return kNumbers[random_below(std::size(kNumbers))];
  }

  std::mt19937_64 random_;
};

}  // namespace

void read_recordings_of_releases(Bytes bytes) {
  uint64_t seed = 14695981039346656037ull;
  for (uint8_t b : bytes) seed = (seed ^ b) * 1099511628211ull;
  JsonMutator mutator(seed);
  const RecordGraphs& record = import_records()[mutator.random_below(import_records().size())];
  const std::string& text = record.graphs[mutator.random_below(record.graphs.size())];
  Json graph = Json::parse(text, nullptr, false);
  if (graph.is_discarded()) return;  // the graph is a pyrender text
  mutator.mutate(graph);
  const DeadlineScope limit(5);
  auto in = load_graph_text({}, InputKind::Json, graph.dump(), "fuzz");
  if (!check_message(in)) return;
  if (in->is_tensor_graph) {
    check_message(import_tensor_graph(in->root, {}));
    count_run_input();
    return;
  }
  auto imported = import_graph(in->root);
  if (!check_message(imported)) return;
  count_run_input();
  InputGraph own{.graph = imported->graph, .root = imported->root};
  Session session;
  auto compilation = session.begin(std::move(own));
  if (!check_message(compilation)) return;
  check_message(compilation->source());
}

}  // namespace tgc::fuzz
