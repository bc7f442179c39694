// tgc stats [INPUT]: how often each rule was tried and hit, and how long that took.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
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
    auto choices = choices_of_rows([](const StageRow& row) { return row.is_graph_stage() || row.is(OutputKind::List); });
    choices.push_back({"all", "", "", false});
    auto selected = select_stages(o.stage, choices);
    if (!selected) return trouble(selected.diag());
    if (std::ranges::find(*selected, "all") == selected->end()) stages = *selected;
  }
  StatsWatcher counter(
      [&](const StageRow& row) { return stages.empty() || std::ranges::find(stages, row.name) != stages.end(); });
  Session session = terminal_session(o.over);
  RecordedCounts elsewhere;
  FailureCollector refusals(session);
  auto status = refusals.for_each(o.input, o.kernel, [&](InputGraph graph) -> Status {
    if (graph.graph->is_foreign()) return elsewhere.add(graph);
    auto compilation = session.begin(std::move(graph));
    return compilation ? run_watched(std::move(*compilation), counter) : Status(compilation.diag());
  });
  if (!status) return trouble(status.diag());
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

void add_stats(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<StatsOptions>();
  CLI::App* cmd = app.add_subcommand(
      "stats",
      "run the pipeline and print for each rule: hits / attempts -- ms in matches / ms in all, as TRACK_MATCH_STATS=1 "
      "does. Of a recording of another release: how often each rule matched, and the ops");
  cmd->add_option("INPUT", o->input,
                  "a file of any kind, FILE#ID for one id, of several the sum; default: standard input");
  cmd->add_option("--stage", o->stage, "count in these stages alone")->type_name("LIST");
  add_kernel_option(*cmd, o->kernel);
  cmd->add_flag("--never", o->never, "print the rules that never hit instead");
  cmd->add_flag("--json", o->json, "as JSON, the rules that were never tried included");
  add_pipeline_options(*cmd, o->over);
  cmd->footer("Exit codes: 0; 1 a stage refused a graph of several, which tinygrad takes; 2 trouble.");
  cmd->callback([o, &exit_code] { exit_code = stats(*o); });
}

}  // namespace tgc
