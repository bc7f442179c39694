// tgc stats [INPUT]: how often each rule was tried and hit, and how long that took.
#include <CLI/CLI.hpp>
#include <optional>

#include "apps/tgc/commands.h"
#include "apps/tgc/pipeline_walk.h"
#include "lib/compilation/selection.h"
#include "apps/tgc/terminal.h"
#include "lib/inspect/match_stats.h"
#include "lib/inspect/rule_catalog.h"

namespace tgc {
namespace {

struct StatsOptions {
  std::string input = "-", kernel, stage;
  bool json = false, never = false;
  PipelineOptions pipeline;
};

class Counter : public PipelineWatcher {
 public:
  explicit Counter(const std::vector<std::string_view>& stages) : stages_(stages) {}

  void stage(std::string_view name, UOp input) override {
    if (stages_.empty() || std::find(stages_.begin(), stages_.end(), name) != stages_.end()) watch_.emplace(input.graph(), stats);
  }
  Status stage_end(std::string_view, UOp) override {
    watch_.reset();
    return Unit{};
  }

  RuleStats stats;

 private:
  const std::vector<std::string_view>& stages_;
  std::optional<StatsWatch> watch_;
};

int stats(const StatsOptions& o) {
  std::vector<std::string_view> stages;
  if (!o.stage.empty()) {
    std::vector<Choice> choices;
    add_stages(choices, tensor_stages());
    add_stages(choices, kernel_stages());
    choices.push_back({"linear", "linearize", ""});
    auto selected = select_stages(o.stage, choices);
    if (!selected) return trouble(selected.diag());
    stages = *selected;
  }
  auto input = Input::open(o.input, o.kernel, o.pipeline);
  if (!input) return trouble(input.diag());
  Counter counter(stages);
  for (;;) {
    auto graph = input->next();
    if (!graph) return trouble(graph.diag());
    if (!*graph) break;
    if (auto status = walk_pipeline(**graph, o.pipeline, counter); !status) return trouble(status.diag());
  }
  std::vector<const RuleSet*> sets;
  for (const CatalogSet& s : rule_catalog()) sets.push_back(s.set);
  auto counted = counter.stats.by_rule();
  if (o.json) print(stats_json(counted, sets) + "\n");
  else if (o.never) print(never_hit_text(counted, sets));
  else print(stats_text(counted));
  return 0;
}

}  // namespace

void add_stats(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<StatsOptions>();
  CLI::App* cmd = app.add_subcommand("stats", "run the pipeline and print for each rule: hits / attempts -- ms in matches / ms in all, as TRACK_MATCH_STATS=1 does");
  cmd->add_option("INPUT", o->input, "a file of any kind, FILE#ID for one record, of several the sum; default: standard input");
  cmd->add_option("--stage", o->stage, "count in these stages alone")->type_name("LIST");
  cmd->add_option("--kernel", o->kernel, "one of many: its number from 0, or its name")->type_name("N|NAME");
  cmd->add_flag("--never", o->never, "print the rules that never hit instead");
  cmd->add_flag("--json", o->json, "as JSON, the rules that were never tried included");
  o->pipeline.add_to(*cmd);
  cmd->callback([o, &exit_code] { exit_code = stats(*o); });
}

}  // namespace tgc
