// tgc patterns: list the rewrite rules.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/compilation/stage_rows.h"
#include "lib/rules/rule_catalog.h"

namespace tgc {
namespace {

struct PatternsOptions {
  std::string stage, set, op;
  bool json = false;
  Overrides over;
};

// The rules that the stage applies, in their order. Which they are depends on target and settings.
Result<std::vector<CatalogRule>> rules_of_stage(const PatternsOptions& o) {
  auto settings = Session{.over = o.over}.settings_for();
  if (!settings) return settings.diag();
  const StageRow* row = find_row(o.stage);
  if (!row) return unknown_stage(o.stage);
  auto target = parse_target(Session{.over = o.over}.default_target(), *settings);
  if (!target) return target.diag();
  Graph graph(*settings);
  auto inside = row->kernel   ? row->kernel->inside
                : row->tensor ? row->tensor->inside
                              : std::span<const RuleSetFunction>();
  return catalog_rules(rules_of(*row, *target, graph), inside);
}

Result<std::vector<CatalogRule>> rules_of_set(const std::string& name) {
  std::vector<std::string_view> names;
  for (const CatalogSet& s : rule_catalog()) {
    if (s.name == name) return catalog_rules(s.set);
    names.push_back(s.name);
  }
  return unknown_name("rule set", name, names, "one that `tgc patterns --json` lists");
}

int patterns(const PatternsOptions& o) {
  PatternListing listing{.color = use_color(1)};
  if (!o.op.empty()) {
    auto op = op_of_word(o.op);
    if (!op) return trouble(op.diag());
    listing.ops.add(*op);
  }
  Result<std::vector<CatalogRule>> rules = !o.stage.empty() ? rules_of_stage(o)
                                           : !o.set.empty() ? rules_of_set(o.set)
                                                            : catalog_rules();
  if (!rules) return trouble(rules.diag());
  print(o.json ? patterns_json(*rules, listing) + "\n" : patterns_text(*rules, listing));
  return 0;
}

}  // namespace

void add_patterns(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<PatternsOptions>();
  CLI::App* cmd = app.add_subcommand(
      "patterns", "list the rewrite rules: name, algebra, root ops, file and line, the stages that use them");
  auto* stage = cmd->add_option("--stage", o->stage, "the rules that stage applies, in the order they are tried")
                    ->type_name("STAGE");
  cmd->add_option("--in", o->set,
                  "the rules of one of tinygrad's PatternMatchers by its name, for example symbolic_simple")
      ->type_name("NAME")
      ->excludes(stage);
  cmd->add_option("--op", o->op, "only rules that may rewrite a node of that op, as tinygrad's pdict[Ops.OP]")
      ->type_name("OP");
  cmd->add_flag("--json", o->json, "as JSON, with the number of rules of each set and stage");
  add_pipeline_options(*cmd, o->over);
  cmd->callback([o, &exit_code] { exit_code = patterns(*o); });
}

}  // namespace tgc
