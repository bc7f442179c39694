// tgc bench GOLDENS|INPUT: time the pipeline, stage by stage.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/run/bench.h"

namespace tgc {
namespace {

struct BenchOptions {
  BenchPlan plan;
  bool json = false, list = false;
  unsigned jobs = 1;
  Overrides over;
};

int bench(BenchOptions o) {
  if (o.plan.inputs.empty()) o.plan.inputs = {"-"};
  auto result = run_bench(terminal_session(with_found_opts(o.over), o.jobs), o.plan);
  if (!result) return trouble(result.diag());
  if (result->graphs.size() == 1 && !result->graphs[0].time) return trouble(result->graphs[0].time.diag());
  BenchReport report(o.plan, o.jobs, *result);
  print_report(o.json ? report.json(o.list) : report.text(o.list));
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App* cmd = app.add_subcommand("bench", "time the pipeline, stage by stage");
  cmd->footer(
      "Times are milliseconds: processor time in total, elapsed time of a stage. The total is that from the AST to "
      "the linear list,\n"
      "of a tensor graph to its kernels; it does not hold the reading of the text, `source` and `program`, but with "
      "--whole all from the\n"
      "file to the sources. The nodes of the total are those of the ASTs, of a stage those of what it left.");
  cmd->add_option("INPUT", o->plan.inputs,
                  "golden files, or a graph of any kind; FILE#ID: that record alone; default: standard input");
  cmd->add_flag("--json", o->json, "print the times as JSON");
  cmd->add_flag("--list", o->list, "the time of each kernel, too");
  cmd->add_flag(
      "--whole", o->plan.whole,
      "of each model or tensor graph, reading the file, scheduling it and rendering the sources of its kernels, equal "
      "ones once");
  add_size_option(*cmd, o->over);
  cmd->add_flag("--stats", o->plan.count_rules,
                "as many runs more that count rules as `tgc stats` does: what counting costs");
  cmd->add_option(
         "--repeat", o->plan.repeats,
         "time each kernel N times, and its stages as often, after a first run that is not timed; the fastest counts; "
         "default 3")
      ->type_name("N")
      ->check(whole_number(1, kMostRuns));
  cmd->add_option("-j", o->jobs, "threads; default 1")->type_name("N")->check(whole_number(1, kMostThreads));
  add_kernel_option(*cmd, o->plan.kernel);
  add_pipeline_options(*cmd, o->over);
  cmd->callback([o, &exit_code] { exit_code = bench(*o); });
}

}  // namespace tgc
