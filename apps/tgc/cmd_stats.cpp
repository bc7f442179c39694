// tgc stats: counts how often each rule was tried and matched.
#include <algorithm>

#include "apps/tgc/options.h"
#include "lib/driver/failure_collector.h"
#include "lib/recordings/foreign_recordings.h"
#include "lib/recordings/recorded_counts.h"
#include "lib/rules/rule_catalog.h"
#include "lib/trace/watchers.h"

namespace tgc {
namespace {

struct StatsOptions {
  std::string input = "-", kernel, stage, op;
  bool json = false, never = false;
  Overrides over{.live_rewrites = true};
  CLI::App* app;
};

int stats(const StatsOptions& o) {
  std::vector<std::string_view> stages;
  OpSet ops;
  if (!o.op.empty()) ops.add(require(op_of_word(o.op)));
  const bool is_foreign = !foreign_producer(o.input).empty();  // then its stages are its own, which `recorded` selects
  if (!o.stage.empty() && !is_foreign) {
    auto choices = choices_of_rows([](const StageRow& s) { return s.is_graph_stage() || s.is(OutputKind::List); });
    choices.push_back({"all", "", "", false});
    stages = require(select_stages(o.stage, choices));
    if (std::ranges::find(stages, "all") != stages.end()) stages.clear();
  }
  StatsWatcher counter(
      [&](const StageRow& row) { return stages.empty() || std::ranges::find(stages, row.name) != stages.end(); });
  Session session = terminal_session(o.over);
  RecordedCounts recorded(o.stage, ops);
  FailureCollector refusals(session);
  require(refusals.for_each(o.input, o.kernel, [&](InputGraph graph) -> Status {
    if (shows_recording(session, graph)) return refuse_options(*o.app, graph, {"--never"}), recorded.add(graph);
    auto compilation = session.begin(std::move(graph));
    return compilation ? run_watched(std::move(*compilation), counter) : Status(compilation.diag());
  }));
  if (recorded.records()) {
    require(recorded.outcome(false));
    return print_report(o.json ? recorded.json() : recorded.text()), refusals.failed();
  }
  std::vector<const RuleSet*> sets;
  for (const CatalogSet& s : rule_catalog()) sets.push_back(s.set);
  auto counted = counter.stats.by_rule();
  if (o.json) print(stats_json(counted, sets, ops) + "\n");
  else if (o.never) print_report(never_hit_text(counted, sets, ops));
  else print_report(stats_text(counted, ops));
  return refusals.failed();
}

}  // namespace

void add_stats(Command& cmd) {
  auto& o = cmd.make<StatsOptions>();
  o.app = cmd.operator->();
  cmd.describe("Count how often each rewrite rule was tried and matched, and how long that took.",
               "tgc stats golden.jsonl.gz --stage=symbolic",
               "Columns, as TRACK_MATCH_STATS=1 prints them: matches / attempts -- ms in matches / ms in all.\n"
               "Recordings of other releases have only the number of matches and the ops.\n"
               "Exit codes: 0, 1 a stage refused one of several graphs that tinygrad accepts, 2 trouble.");
  add_input_options(cmd, o.input, o.kernel);
  cmd.option("--stage", o.stage, "LIST", "count only in these stages");
  cmd.option("--op", o.op, "OP", "count only rules that may rewrite a node of this op");
  cmd.group(Group::Output);
  cmd.json(o.json, "print JSON, with the rules that were never tried");
  cmd.flag("--never", o.never, "print the rules that never matched instead");
  add_pipeline_options(cmd, o.over);
  cmd.runs([&o] { return stats(o); });
}

}  // namespace tgc
