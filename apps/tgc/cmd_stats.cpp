// tgc stats: counts how often each rule was tried and matched.
#include <algorithm>

#include "apps/tgc/options.h"
#include "lib/driver/failure_collector.h"
#include "lib/recordings/foreign_recordings.h"
#include "lib/rules/rule_catalog.h"
#include "lib/trace/watchers.h"

namespace tgc {
namespace {

struct StatsOptions {
  std::string input = "-", kernel, stage;
  bool json = false, never = false;
  Overrides over;
};

int stats(const StatsOptions& o) {
  std::vector<std::string_view> stages;
  if (!o.stage.empty()) {
    auto choices = choices_of_rows([](const StageRow& s) { return s.is_graph_stage() || s.is(OutputKind::List); });
    choices.push_back({"all", "", "", false});
    stages = require(select_stages(o.stage, choices));
    if (std::ranges::find(stages, "all") != stages.end()) stages.clear();
  }
  StatsWatcher counter(
      [&](const StageRow& row) { return stages.empty() || std::ranges::find(stages, row.name) != stages.end(); });
  Session session = terminal_session(o.over);
  RecordedCounts elsewhere;
  FailureCollector refusals(session);
  require(refusals.for_each(o.input, o.kernel, [&](InputGraph graph) -> Status {
    if (graph.graph->is_foreign()) return elsewhere.add(graph);
    auto compilation = session.begin(std::move(graph));
    return compilation ? run_watched(std::move(*compilation), counter) : Status(compilation.diag());
  }));
  if (elsewhere.records) return print_report(o.json ? elsewhere.json() : elsewhere.text()), refusals.failed();
  std::vector<const RuleSet*> sets;
  for (const CatalogSet& s : rule_catalog()) sets.push_back(s.set);
  auto counted = counter.stats.by_rule();
  if (o.json) print(stats_json(counted, sets) + "\n");
  else if (o.never) print_report(never_hit_text(counted, sets));
  else print_report(stats_text(counted));
  return refusals.failed();
}

}  // namespace

void add_stats(Command& cmd) {
  auto& o = cmd.make<StatsOptions>();
  cmd.describe("Count how often each rewrite rule was tried and matched, and how long that took.",
               "tgc stats golden.jsonl.gz --stage=symbolic",
               "Columns, as TRACK_MATCH_STATS=1 prints them: matches / attempts -- ms in matches / ms in all.\n"
               "Recordings of other releases have only the number of matches and the ops.\n"
               "Exit codes: 0, 1 a stage refused one of several graphs that tinygrad accepts, 2 trouble.");
  add_input_options(cmd, o.input, o.kernel);
  cmd.option("--stage", o.stage, "LIST", "count only in these stages");
  cmd.group(Group::Output);
  cmd.json(o.json, "print JSON, with the rules that were never tried");
  cmd.flag("--never", o.never, "print the rules that never matched instead");
  add_pipeline_options(cmd, o.over);
  cmd.runs([&o] { return stats(o); });
}

}  // namespace tgc
