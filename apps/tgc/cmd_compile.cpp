// tgc compile INPUT...: every distinct source of many kernels through its target's compiler, and what came of it.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/run/compile_all.h"

namespace tgc {
namespace {

struct CompileCommand {
  CompilePlan plan;
  bool json = false, no_cache = false, times = false;
  unsigned jobs = 1;
  Overrides over;
};

int compile_inputs(CompileCommand& o) {
  o.plan.use_cache = !o.no_cache;
  Session session = terminal_session(o.over, o.jobs);
  CompileAll all(session, o.plan);
  if (auto status = all.run(); !status) return trouble(status.diag());
  print_report(o.json ? all.json(o.times) : all.text());
  if (auto status = all.any_source(); !status) return trouble(status.diag());
  return all.any_failed() ? 1 : 0;
}

}  // namespace

void add_compile(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<CompileCommand>();
  CLI::App* cmd = app.add_subcommand(
      "compile",
      "compile every distinct source of the kernels given, for each its own target or --target; a table of what came "
      "of it");
  cmd->add_option("INPUT", o->plan.inputs, "files of any kind that dump takes")->required();
  cmd->add_flag("--json", o->json, "as JSON: totals by target, every failure and every kernel without a source");
  cmd->add_flag("--times", o->times, "with --json: list every source with its time, not only those that fail");
  cmd->add_flag("--no-cache", o->no_cache, "compile anew what the cache holds");
  cmd->add_option("-j,--jobs", o->jobs, "threads (1)")->check(whole_number(1, kMostThreads));
  cmd->add_option("--every", o->plan.every, "take every Nth kernel alone (1)")
      ->type_name("N")
      ->check(whole_number(1, kMostRuns));
  cmd->add_option("--timeout", o->plan.timeout_seconds, "seconds that a source may take (600)")
      ->type_name("S")
      ->check(real_number(0.01, kMostSeconds));
  add_pipeline_options(*cmd, o->over);
  cmd->callback([o, &exit_code] { exit_code = compile_inputs(*o); });
}

}  // namespace tgc
