#include "apps/tgc/options.h"
#include "lib/driver/failure_collector.h"
#include "lib/rules/match_stats.h"
#include "lib/rules/rule_catalog.h"
#include "lib/trace/rewrite_counts.h"

namespace tgc {
namespace {

struct StatsOptions {
  std::string input = "-", kernel, stage, op;
  bool json = false, never = false;
  CompileOverrides overrides{.records_live_rewrites = true};
  CLI::App* app;
};

int run_stats(const StatsOptions& o) {
  OpSet ops;
  if (!o.op.empty()) ops.add(require_value(op_of_word(o.op)));
  StageSelection stages(o.stage);
  RuleStats attempts;
  RewriteCounts counts(o.stage, ops);
  Session session = make_terminal_session(o.overrides);
  FailureCollector refusals(session);
  require_value(refusals.for_each_pipeline(o.input, o.kernel, [&](Pipeline& pipeline) -> Status {
    if (pipeline.has_ability(Ability::Attempts)) {
      Status status = pipeline.count_rules(attempts, stages);
      if (stages.has_unknown_stage()) require_value(status);
      return status;
    }
    require_for_options(*o.app, pipeline, Ability::Attempts, {"--never"});
    return counts.add_pipeline(pipeline);
  }));
  if (counts.num_pipelines()) {
    require_value(counts.check_words_matched());
    return print_report(o.json ? counts.json() : counts.text()), refusals.has_failures();
  }
  std::vector<const RuleSet*> sets;
  for (const CatalogRuleSet& s : rule_catalog()) sets.push_back(s.rule_set);
  auto counted = attempts.counters_by_rule();
  if (o.json) print_output(stats_json(counted, sets, ops) + "\n");
  else if (o.never) print_report(never_hit_text(counted, sets, ops));
  else print_report(stats_text(counted, ops));
  return refusals.has_failures();
}

}  // namespace

void add_stats(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<StatsOptions>();
  o.app = cmd.operator->();
  cmd.set_description("Count how often each rewrite rule was tried and matched, and how long that took.",
               "tgc stats golden.jsonl.gz --stage=symbolic",
               "Columns, as TRACK_MATCH_STATS=1 prints them: matches / attempts -- ms in matches / ms in all.\n"
               "Recordings of other releases, and --live, have the matches and ops of each graph, the processor time\n"
               "of each stage, and with --rewrites the same columns as tinygrad took the times.\n"
               "Exit codes: 0, 1 a stage refused one of several graphs that tinygrad accepts, 2 trouble.");
  add_input_options(cmd, o.input, o.kernel);
  cmd.add_option("--stage", o.stage, "LIST", "count only in these stages");
  cmd.add_option("--op", o.op, "OP", "count only rules that may rewrite a node of this op");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json, "print JSON, with the rules that were never tried");
  cmd.add_cli_flag("--never", o.never, "print the rules that never matched instead");
  add_pipeline_options(cmd, o.overrides);
  cmd.set_action([&o] { return run_stats(o); });
}

}  // namespace tgc
