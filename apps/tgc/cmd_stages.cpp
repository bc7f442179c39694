// tgc stages: the table of stages.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"
#include "lib/compilation/stage_rows.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

struct Row {
  const StageRow* stage;
  std::string about;
  std::optional<size_t> rules;  // none: it is no rewrite by rules
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

std::string as_json(const std::vector<Row>& rows) {
  std::string out;
  JsonWriter json(out);
  json.array([&] {
    for (const Row& r : rows)
      json.line().object([&] {
        json.member("name", r.stage->name)
            .member("alias", r.stage->alias)
            .member("slug", r.stage->slug)
            .member("level", r.stage->level());
        json.member("rules", r.rules).member("bottom_up", r.about == "bottom-up");
      });
    json.line();
  });
  return out + "\n";
}

std::string as_table(const std::vector<Row>& rows) {
  size_t name = 5, alias = 5;
  for (const Row& r : rows) name = std::max(name, r.stage->name.size()), alias = std::max(alias, r.stage->alias.size());
  std::string out;
  char line[512];
  auto add = [&](std::string_view a, std::string_view b, std::string_view c, const std::string& d,
                 const std::string& e) {
    std::snprintf(line, sizeof line, "%-*s  %-*s  %-7s  %5s  %s", int(name), std::string(a).c_str(), int(alias),
                  std::string(b).c_str(), std::string(c).c_str(), d.c_str(), e.c_str());
    std::string text = line;
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  add("stage", "alias", "level", "rules", "");
  for (const Row& r : rows)
    add(r.stage->name, r.stage->alias, r.stage->level(), r.rules ? std::to_string(*r.rules) : "-", r.about);
  return out;
}

}  // namespace

void add_stages(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* cmd =
      app.add_subcommand("stages", "list the stages of the pipeline in order: name, alias, level, number of rules");
  cmd->add_flag("--json", *json, "as JSON");
  cmd->callback([json, &exit_code] {
    print(*json ? as_json(rows()) : as_table(rows()));
    exit_code = 0;
  });
}

}  // namespace tgc
