#include "lib/compilation/stage_list.h"

#include "lib/compilation/stage_rows.h"
#include "lib/support/json_writer.h"
#include "lib/support/table.h"

namespace tgc {
namespace {

struct Row {
  const StageRow* stage;
  std::string about;
  std::optional<size_t> rules;  // number of rules; nullopt: the stage has no rewrite rules
};

std::vector<Row> rows() {
  std::vector<Row> out;
  Graph graph;
  auto target = parse_target("CPU", graph.settings());
  for (const StageRow& s : stage_rows()) {
    if (s.kind == StageRow::Kind::Ast) continue;
    Row row{&s, std::string(s.help), {}};
    if (const RuleSet* rules = target ? rules_of(s, *target, graph) : nullptr) row.rules = rules->rules().size();
    bool bottom_up = (s.tensor && s.tensor->bottom_up) || (s.kernel && s.kernel->bottom_up);
    if (row.rules && bottom_up) row.about = "bottom-up";
    out.push_back(std::move(row));
  }
  return out;
}

std::string padded(const std::string& n) { return std::string(n.size() < 5 ? 5 - n.size() : 0, ' ') + n; }

}  // namespace

std::string stage_list_json() {
  return json_text([&](JsonWriter& json) {
    json.array([&] {
      for (const Row& r : rows())
        json.line().object([&] {
          json.member("name", r.stage->name).member("alias", r.stage->alias).member("slug", r.stage->slug);
          json.member("level", r.stage->level()).member("rules", r.rules).member("bottom_up", r.about == "bottom-up");
        });
      json.line();
    });
  });
}

std::string stage_list_text() {
  std::vector<std::vector<std::string>> cells{{"stage", "alias", "level", "rules"}};
  for (const Row& r : rows())
    cells.push_back({std::string(r.stage->name), std::string(r.stage->alias), std::string(r.stage->level()),
                     r.rules ? padded(std::to_string(*r.rules)) : "    -", r.about});
  return table(cells);
}

}  // namespace tgc
