// tgc stages: the table of stages.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "lib/compilation/outputs.h"
#include "apps/tgc/terminal.h"
#include "lib/text/json_scan.h"
#include "passes/pipeline.h"

namespace tgc {
namespace {

struct Row {
  std::string name, alias, slug, level, about;
  size_t rules = 0;
  bool has_rules = false;
};

std::vector<Row> rows() {
  std::vector<Row> out;
  Graph graph;
  auto target = parse_target("CPU", graph.settings());
  TensorJob tensor_job(graph);
  for (const TensorStage& s : tensor_stages()) {
    Row row{std::string(s.name), std::string(s.alias), s.slug(), "tensor", s.bottom_up ? "bottom-up" : ""};
    if (const RuleSet* rules = s.rules ? s.rules(tensor_job) : nullptr) row.has_rules = true, row.rules = rules->rules().size();
    out.push_back(std::move(row));
  }
  out.push_back({"schedule", "kernels", "schedule", "tensor", "the kernels in the order they run, and their buffers"});
  for (const Stage& s : kernel_stages()) {
    Row row{std::string(s.name), std::string(s.alias), s.slug(), "kernel", ""};
    if (s.rules && target) {
      KernelJob job{graph, *target};
      const RuleSet* rules = s.rules(job);
      if (rules) row.has_rules = true, row.rules = rules->rules().size();
      row.about = std::string(s.bottom_up ? "bottom-up" : "");
    }
    out.push_back(std::move(row));
  }
  for (const OutputStage& o : output_stages()) out.push_back({std::string(o.name), std::string(o.alias), std::string(o.name), "program", std::string(o.help)});
  return out;
}

std::string as_json(const std::vector<Row>& rows) {
  std::string out = "[";
  for (const Row& r : rows) {
    if (out.size() > 1) out += ",";
    out += "\n{";
    bool first = true;
    for (auto [key, value] : {std::pair("name", &r.name), std::pair("alias", &r.alias), std::pair("slug", &r.slug), std::pair("level", &r.level)}) {
      if (!first) out += ',';
      first = false;
      out.append("\"").append(key).append("\":");
      append_json_string(out, *value);
    }
    out += ",\"rules\":" + (r.has_rules ? std::to_string(r.rules) : "null") + ",\"bottom_up\":" + (r.about == "bottom-up" ? "true" : "false") + "}";
  }
  return out + "\n]\n";
}

std::string as_table(const std::vector<Row>& rows) {
  size_t name = 5, alias = 5;
  for (const Row& r : rows) name = std::max(name, r.name.size()), alias = std::max(alias, r.alias.size());
  std::string out;
  char line[512];
  auto add = [&](const std::string& a, const std::string& b, const std::string& c, const std::string& d, const std::string& e) {
    std::snprintf(line, sizeof line, "%-*s  %-*s  %-7s  %5s  %s", int(name), a.c_str(), int(alias), b.c_str(), c.c_str(), d.c_str(), e.c_str());
    std::string text = line;
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  add("stage", "alias", "level", "rules", "");
  for (const Row& r : rows) add(r.name, r.alias, r.level, r.has_rules ? std::to_string(r.rules) : "-", r.about);
  return out;
}

}  // namespace

void add_stages(CLI::App& app, int& exit_code) {
  auto json = std::make_shared<bool>(false);
  CLI::App* cmd = app.add_subcommand("stages", "list the stages of the pipeline in order: name, alias, level, number of rules");
  cmd->add_flag("--json", *json, "as JSON");
  cmd->callback([json, &exit_code] {
    print(*json ? as_json(rows()) : as_table(rows()));
    exit_code = 0;
  });
}

}  // namespace tgc
