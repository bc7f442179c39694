// tgc beam INPUT: tinygrad's kernel search, and what it has found.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/process.h"
#include "apps/tgc/terminal.h"
#include "lib/beam/beam.h"
#include "lib/beam/beam_plot.h"
#include "lib/beam/tinygrad_cache.h"
#include "lib/support/counted.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

struct BeamOptions {
  BeamPlan plan;
  size_t width = 0;
  bool json = false, explain = false, table = false, list = false;
  std::string results, plot, shard, remove, import_from, export_to, merged;
  std::vector<std::string> merge;
  unsigned jobs = 0;
  Overrides over;

  std::string file() const { return results.empty() ? BeamResults::default_path() : results; }
};

Status tell(const BeamOptions& o, const BeamLog& log) {
  if (o.plan.enumerate) print(o.json ? enumeration_json(log) : rounds_table(log));
  else print(o.json ? result_json(log) : result_line(log));
  if (o.table && !o.json) print(rounds_table(log));
  if (o.explain && !o.json) print(explanation(log));
  flush_output();
  return o.plot.empty() || log.rounds.empty() ? Status(Unit{}) : write_file(o.plot, beam_plot(log));
}

int search(BeamOptions& o) {
  auto settings = BeamSettings::take(o.over.sets);
  if (!settings) return trouble(settings.diag());
  auto shard = Shard::parse(o.shard);
  if (!shard) return trouble(shard.diag());
  o.plan.shard = *shard;
  o.plan.search.settings = *settings;
  o.plan.search.width = o.width ? o.width : size_t(settings->BEAM >= 1 ? settings->BEAM : 2);
  bool measures = o.plan.replay.empty() && !o.plan.enumerate;
  o.plan.results = measures ? o.file() : o.results;  // given times are kept where a file is named alone
  heed_termination();
  Session session = terminal_session(o.over, o.jobs);
  bool any = false;
  auto status = run_beam(session, o.plan, [&](const BeamLog& log) { return any = true, tell(o, log); });
  if (!status) return trouble(status.diag());
  if (session.cancelled())
    warn({.message = "interrupted; what was found is kept, and the same command goes on from there"});
  if (!any && shard->of == 1)
    return trouble({.message = "nothing was searched: no kernel is in it", .file = o.plan.input});
  return 0;
}

int transfer(const Result<CacheTransfer>& moved, const char* what) {
  if (!moved) return trouble(moved.diag());
  for (const std::string& why : moved->left_out) warn({.message = "left out: " + why});
  print(counted(moved->rows, "result") + " " + what + "\n");
  return 0;
}

// What is done with results, without a search.
int manage(const BeamOptions& o) {
  auto done = catch_failures([&]() -> int {
    bool writes = !o.remove.empty() || !o.import_from.empty();
    if (!writes && !std::filesystem::exists(o.file())) {  // nothing was searched yet
      if (!o.results.empty()) throw Failure(Diag{.message = "there is no such file of results", .file = o.results});
      if (!o.export_to.empty()) throw Failure("there are no results to export: `tgc beam INPUT` finds some");
      return print(o.json ? results_json({}) : results_text({})), 0;
    }
    BeamResults results(o.file(), writes ? Database::Mode::Write : Database::Mode::Read);
    if (!o.import_from.empty())
      return transfer(import_cache(o.import_from, results, o.over.target), "imported");
    if (!o.export_to.empty()) return transfer(export_cache(results, o.export_to, o.over.target), "exported");
    if (!o.remove.empty()) {
      size_t removed = results.remove(o.remove);
      if (removed == 0)
        throw Failure("no result has the kernel, the target or the key '" + o.remove + "'; --list shows them");
      return print(std::to_string(removed) + " removed\n"), 0;
    }
    print(o.json ? results_json(results.list()) : results_text(results.list()));
    return 0;
  });
  return done ? *done : trouble(done.diag());
}

int merge(const BeamOptions& o) {
  auto status = merge_results(o.merge, o.merged);
  return status ? 0 : trouble(status.diag());
}

}  // namespace

void add_beam(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<BeamOptions>();
  o->shard = "1/1";
  BeamPlan& p = o->plan;
  CLI::App* cmd = app.add_subcommand("beam", "tinygrad's kernel search: the fastest opts of kernels");
  auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return cmd->add_option(name, value, help)->type_name(type);
  };
  cmd->add_option("INPUT", p.input, "kernels, tensor graphs, models, FILE#ID for one id; default: standard input");
  option("--device", p.device, "DEV", "where to time, as `tgc run --device` takes it; default: what the target says");
  option("--width", o->width, "N", "kernels that a round keeps; default: BEAM, else 2")->check(whole_number(1, 1000));
  option("--budget", p.budget, "SECONDS", "for all kernels together, shared out as they share the time")
      ->check(real_number(0, kMostSeconds));
  option("--confirm", p.confirm, "N", "turns that the best and the hand-coded kernel take at the end (5)")
      ->check(whole_number(1, 1000));
  option("--reference", p.reference, "DEV",
         "what a kernel is compared with before it may win; default: REF; of one with much to do, DEV without opts");
  option("--shard", o->shard, "K/N", "the Kth of N parts of the kernels: the same parts everywhere");
  cmd->add_flag("--anew", p.anew, "search also what has a result");
  cmd->add_flag("--table", o->table, "a table of the rounds");
  cmd->add_flag("--explain", o->explain, "why each of the opts was taken");
  option("--plot", o->plot, "FILE.svg", "a picture of the rounds; of several kernels the last");
  cmd->add_flag("--enumerate", p.enumerate, "print candidates, time none: without --replay-times those of one round");
  option("--replay-times", p.replay, "FILE", "take the times from a file that scripts/beam_record wrote");
  option("--results", o->results, "FILE", "the file of results; default: TGC_BEAM_DB, else beam.db beside the cache");
  auto* list = cmd->add_flag("--list", o->list, "list the results");
  auto* remove = option("--remove", o->remove, "WHAT", "remove results: a kernel, a target, or how a key begins");
  auto* from = option("--import-cache", o->import_from, "DB", "take the results of tinygrad's cache.db");
  auto* to = option("--export-cache", o->export_to, "DB", "write the results into tinygrad's cache.db");
  for (auto* one : {list, remove, from, to})
    for (auto* other : {list, remove, from, to})
      if (one != other) one->excludes(other);
  option("-j,--jobs", o->jobs, "N", "threads that compile; default: as many as processors")
      ->check(whole_number(1, kMostThreads));
  add_kernel_option(*cmd, p.kernel);
  cmd->add_flag("--json", o->json, "one JSON object a kernel");
  add_pipeline_options(*cmd, o->over, false);
  add_size_option(*cmd, o->over);
  CLI::App* join = cmd->add_subcommand("merge", "join files of results; the fastest of a kernel stays");
  join->add_option("FILES", o->merge, "files of results")->required();
  join->add_option("-o,--output", o->merged, "the file they go to")->required();
  cmd->footer("`tgc run`, `dump` and `bench` use the results under BEAM=N. Variables: `tgc help beam`.");
  cmd->callback([=, &exit_code] {
    bool managed = *list || *remove || *from || *to;
    exit_code = join->parsed() ? merge(*o) : managed ? manage(*o) : search(*o);
  });
}

}  // namespace tgc
