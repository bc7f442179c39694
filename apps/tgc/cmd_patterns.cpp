#include "apps/tgc/options.h"
#include "lib/compilation/stage_rows.h"
#include "lib/driver/source.h"
#include "lib/rules/rule_catalog.h"
#include "lib/trace/rewrite_counts.h"

namespace tgc {
namespace {

struct PatternsOptions {
  std::string recording, stage, set, op;
  bool json = false;
  CompileOverrides overrides{.records_live_rewrites = true};
};

// Returns the rules of --stage in the order in which they are tried.
std::vector<CatalogRule> rules_of_stage(const PatternsOptions& o) {
  const Session session{.overrides = o.overrides};
  Settings settings = require_value(session.merge_settings());
  const StageRow* row = find_stage_row(o.stage);
  if (!row) throw Failure(unknown_stage_error(o.stage));
  Target target = require_value(parse_target(session.default_target(), settings));
  Graph graph(settings);
  auto inside = row->kernel   ? row->kernel->nested_rule_sets
                : row->tensor ? row->tensor->nested_rule_sets
                              : std::span<const RuleSetFunction>();
  return catalog_rules(rules_of_row(*row, target, graph), inside);
}

std::vector<CatalogRule> rules_of_set(const std::string& name) {
  std::vector<std::string_view> names;
  for (const CatalogRuleSet& s : rule_catalog()) {
    if (s.name == name) return catalog_rules(s.rule_set);
    names.push_back(s.name);
  }
  throw Failure(unknown_word_error("rule set", name, names, "one that `tgc patterns --json` lists"));
}

int list_patterns(const PatternsOptions& o) {
  PatternListOptions listing{.uses_color = uses_color(1)};
  if (!o.op.empty()) listing.ops.add(require_value(op_of_word(o.op)));
  if (!o.recording.empty()) {
    RewriteCounts counts(o.stage, listing.ops);
    require_value(
        for_each_pipeline(make_terminal_session(o.overrides), o.recording, "", [&](Pipeline& pipeline) -> Status {
          auto status = pipeline.require_ability(Ability::Rewrites);
          return status ? counts.add_pipeline(pipeline) : status;
        }));
    require_value(counts.check_words_matched());
    return print_report(o.json ? counts.rules_json() : counts.rules_text()), 0;
  }
  auto rules = !o.stage.empty() ? rules_of_stage(o) : !o.set.empty() ? rules_of_set(o.set) : catalog_rules();
  (o.json ? print_output(patterns_json(rules, listing) + "\n") : print_report(patterns_text(rules, listing)));
  return 0;
}

}  // namespace

void add_patterns(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<PatternsOptions>();
  cmd.set_description("List the rewrite rules: name, algebra, root ops, source line and the stages that use them.",
                      "tgc patterns --stage=symbolic --op=ADD",
                      "Of an input: the rules that matched in its stages, named by file and line if tinygrad's.");
  auto* recording = cmd.add_positional("INPUT", o.recording, "list the rules that matched in this input instead");
  cmd.set_group(OptionGroup::Input);
  auto* stage =
      cmd.add_option("--stage", o.stage, "STAGE", "list the rules of this stage, in the order they are tried");
  cmd.add_option("--in", o.set, "NAME", "list the rules of a PatternMatcher of tinygrad, for example symbolic_simple")
      ->excludes(stage)
      ->excludes(recording);
  cmd.add_option("--op", o.op, "OP", "list only rules that may rewrite a node of this op");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json, "print JSON, with the number of rules of each set and stage");
  add_pipeline_options(cmd, o.overrides);
  cmd.set_action([&o] { return list_patterns(o); });
}

}  // namespace tgc
