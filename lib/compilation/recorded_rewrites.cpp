#include "lib/compilation/recorded_rewrites.h"

#include <algorithm>
#include <climits>

#include "lib/text/graph_json.h"
#include "lib/text/json_scan.h"

namespace tgc {

const StageRow& row_of_recorded(const GoldenRecord& record, size_t index) {
  const auto kind = record.target.empty() ? StageRow::Kind::Tensor : StageRow::Kind::Kernel;
  return recorded_row(kind, record.stages[index].name, index + 1);
}

Result<std::vector<Rewrite>> read_rewrites(Graph& graph, const GoldenRecord& record, std::string_view producer,
                                           std::string_view file) {
  return catch_failures([&] {
    std::vector<Rewrite> out;
    if (record.rewrites.empty()) return out;
    std::string_view nodes;
    std::vector<int64_t> wanted;  // two indices into the nodes per rewrite, in order: `before` and `after`
    std::map<std::pair<const StageRow*, std::string>, uint64_t> in_stage;
    JsonScanner in(record.rewrites, file, 1);
    in.object([&](std::string_view key) {
      if (key == "nodes") nodes = in.skip();
      else if (key != "list") in.skip();
      else
        in.array([&] {
          Rewrite made{.number = out.size() + 1};
          size_t at = in.position(), item = 0;
          in.array([&] {
            if (item == 0) {
              const auto index = size_t(in.int64());
              if (index < record.stages.size()) made.stage = &row_of_recorded(record, index);
            } else if (item == 1) {
              made.place = in.string();
            } else if (item == 4) {
              made.depth = int(std::clamp<int64_t>(in.int64(), 0, INT_MAX));
            } else if (item > 4) {
              in.skip();
            } else {
              wanted.push_back(in.int64());
            }
            item++;
          });
          if (item < 4 || item > 5 || made.place.empty())
            in.fail(at, "a match of " + std::to_string(item) + " items", "[stage, place, before, after, depth]");
          made.in_stage = ++in_stage[{made.stage, made.place}];
          out.push_back(std::move(made));
        });
    });
    if (out.empty()) return out;
    std::string text = "{\"format\":\"tgc-graph\",\"version\":1,\"producer\":";
    append_json_string(text, producer);
    text.append(",\"nodes\":").append(nodes).append(",\"list\":[");
    for (size_t i = 0; i < wanted.size(); i++) text += (i ? "," : "") + std::to_string(wanted[i]);
    GraphFile read = graph_from_json(graph, text + "]}", file).value_or_throw();
    for (size_t i = 0; i < out.size(); i++) out[i].before = read.list[2 * i], out[i].after = read.list[2 * i + 1];
    return out;
  });
}

std::vector<std::span<const Rewrite>> split_by_stage(const GoldenRecord& record, std::span<const Rewrite> rewrites) {
  std::vector<std::span<const Rewrite>> out;
  for (size_t index = 0; index < record.stages.size(); index++) {
    const StageRow& row = row_of_recorded(record, index);
    size_t n = 0;
    while (n < rewrites.size() && rewrites[n].stage && rewrites[n].stage->number <= row.number) n++;
    out.push_back(rewrites.first(n));
    rewrites = rewrites.subspan(n);
  }
  return out;
}

}  // namespace tgc
