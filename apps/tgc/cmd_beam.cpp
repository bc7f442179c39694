#include <filesystem>

#include "apps/tgc/options.h"
#include "apps/tgc/process.h"
#include "lib/beam/beam.h"
#include "lib/beam/beam_log.h"
#include "lib/beam/tinygrad_cache.h"
#include "lib/support/counted.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

struct BeamOptions {
  BeamPlan plan;
  size_t beam_width = 0;
  bool json = false, explain = false, table = false, list = false;
  std::string results, plot_path, shard = "1/1", results_to_remove, import_cache_path, export_cache_path, merged_path;
  std::vector<std::string> files_to_merge;
  unsigned num_jobs = 0;
  CompileOverrides overrides;

  std::string file() const { return results.empty() ? BeamResults::default_path() : results; }
};

Status print_log(const BeamOptions& o, const BeamLog& log) {
  if (o.plan.only_enumerates_opts)
    (o.json ? print_output(make_enumeration_json(log)) : print_report(rounds_table(log)));
  else (o.json ? print_output(result_json(log)) : print_report(result_line(log)));
  if (o.table && !o.json) print_report(rounds_table(log));
  if (o.explain && !o.json) print_report(explanation_text(log));
  flush_output();
  return o.plot_path.empty() || log.rounds.empty() ? Status(Unit{}) : write_file(o.plot_path, draw_beam_plot(log));
}

int run_search(BeamOptions& o) {
  BeamSettings settings = require_value(BeamSettings::extract_settings(o.overrides.settings_texts));
  o.plan.shard = require_value(Shard::parse(o.shard));
  o.plan.search_plan.settings = settings;
  o.plan.search_plan.beam_width = o.beam_width ? o.beam_width : size_t(settings.BEAM >= 1 ? settings.BEAM : 2);
  bool measures = o.plan.replay_path.empty() && !o.plan.only_enumerates_opts;
  o.plan.results_path = measures ? o.file() : o.results;  // --replay-times and --enumerate store nothing by default
  handle_termination();
  o.overrides.imports_kernels = !o.overrides.live_command.empty();
  Session session = make_terminal_session(o.overrides, o.num_jobs);
  bool any = false;
  std::vector<ProgramOpts> faster;
  require_value(run_beam(session, o.plan, [&](const BeamLog& log) {
    const bool is_faster = log.hand_coded_seconds && log.kernel_seconds < *log.hand_coded_seconds;
    if (is_faster) faster.push_back({log.function_name, opts_as_text(log.opts)});
    return any = true, print_log(o, log);
  }));
  if (measures && !o.json && !faster.empty())
    print_report("in the program, before its first kernel:\n" + opts_for_program(faster));
  if (session.is_cancelled())
    show_warning({.message = "interrupted; the results so far are kept, and the same command resumes the search"});
  if (!any && o.plan.shard.num_shards == 1)
    return report_error({.message = "nothing was searched: the input has no kernel", .file = o.plan.input});
  return 0;
}

void print_transfer(const CacheTransferResult& moved, const char* what) {
  for (const std::string& why : moved.skipped_row_texts) show_warning({.message = "left out: " + why});
  print_output(count_text(moved.num_rows, "result") + " " + what + "\n");
}

int manage_results(const BeamOptions& o) {
  bool writes = !o.results_to_remove.empty() || !o.import_cache_path.empty();
  if (!writes && !std::filesystem::exists(o.file())) {  // no search and no import has made this file yet
    if (!o.results.empty()) return report_error({.message = "there is no such file", .file = o.results});
    if (!o.export_cache_path.empty()) throw Failure("there are no results to export: `tgc beam INPUT` finds some");
    return (o.json ? print_output(results_json({})) : print_report(results_text({}))), 0;
  }
  BeamResults results(o.file(), writes ? SqliteDatabase::Mode::Write : SqliteDatabase::Mode::Read);
  if (!o.import_cache_path.empty()) {
    print_transfer(require_value(import_cache(o.import_cache_path, results, o.overrides.target)), "imported");
  } else if (!o.export_cache_path.empty()) {
    print_transfer(require_value(export_cache(results, o.export_cache_path, o.overrides.target)), "exported");
  } else if (!o.results_to_remove.empty()) {
    size_t removed = results.remove_results(o.results_to_remove);
    if (removed == 0)
      throw Failure("no result has the kernel, the target or the key '" + o.results_to_remove + "'; --list shows them");
    print_output(std::to_string(removed) + " removed\n");
  } else {
    (o.json ? print_output(results_json(results.all_results())) : print_report(results_text(results.all_results())));
  }
  return 0;
}

}  // namespace

void add_beam(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<BeamOptions>();
  BeamPlan& p = o.plan;
  cmd.set_description("Search for the fastest optimizer lists (opts) of kernels, as tinygrad's BEAM does.",
                      "tgc beam kernel.uop --device=CUDA --width=4",
                      "`tgc run`, `dump` and `bench` use the results under BEAM=N. Variables: `tgc help beam`.");
  CLI::App* join = cmd->add_subcommand("merge", "Merge files of results; the fastest result of each kernel stays.");
  join->add_option("FILES", o.files_to_merge, "files of results")->required();
  join->add_option("-o,--output", o.merged_path, "the merged file")->required();
  add_input_options(cmd, p.input, p.kernel);
  add_size_option(cmd, o.overrides);
  cmd.add_option("--shard", o.shard, "K/N", "search the Kth of N parts of the kernels");
  cmd.set_group(OptionGroup::Device);
  cmd.add_option("--device", p.device, "DEV", "time kernels here, as `tgc run --device`; default: the target's device");
  cmd.set_group(OptionGroup::Comparison);
  cmd.add_option("--reference", p.reference_device, "DEV", "compare candidates with this device; default: REF");
  cmd.set_group(OptionGroup::Search);
  cmd.add_number_option("--width", o.beam_width, "N", 1, 1000,
                        "number of kernels that a round keeps; default: BEAM, else 2");
  cmd.add_number_option("--budget", p.budget_seconds, "S", 0, kMaxTimeoutSeconds,
                        "seconds for all kernels, shared out by their run times");
  cmd.add_number_option("--confirm", p.num_confirm_turns, "N", 1, 1000,
                        "runs of each kernel in the final measurement; default: 5");
  cmd.add_cli_flag("--anew", p.should_search_again, "search kernels that have a result, too");
  cmd.add_cli_flag("--enumerate", p.only_enumerates_opts,
                   "print the candidates without timing them; one round unless --replay-times");
  cmd.add_option("--replay-times", p.replay_path, "FILE",
                 "read the times from a file that scripts/tools/beam_record wrote");
  cmd.add_jobs_option(o.num_jobs, "one per processor");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json, "print one JSON object per kernel");
  cmd.add_cli_flag("--table", o.table, "print a table of the rounds");
  cmd.add_cli_flag("--explain", o.explain, "print why each opt was chosen");
  cmd.add_option("--plot", o.plot_path, "FILE.svg", "draw the rounds of the last kernel");
  cmd.add_option("--results", o.results, "FILE", "the file of results; default: TGC_BEAM_DB, else in the cache folder");
  auto* list = cmd.add_cli_flag("--list", o.list, "list the results");
  auto* remove = cmd.add_option("--remove", o.results_to_remove, "WHAT",
                                "remove the results of a kernel, a target, or a key prefix");
  auto* from = cmd.add_option("--import-cache", o.import_cache_path, "DB", "import the results of tinygrad's cache.db");
  auto* to = cmd.add_option("--export-cache", o.export_cache_path, "DB", "export the results to tinygrad's cache.db");
  for (auto* one : {list, remove, from, to})
    for (auto* other : {list, remove, from, to})
      if (one != other) one->excludes(other);
  add_pipeline_options(cmd, o.overrides, false);
  cmd.set_action([&o, join, list, remove, from, to] {
    bool managed = *list || *remove || *from || *to;
    if (join->parsed()) return require_value(merge_results(o.files_to_merge, o.merged_path)), 0;
    return managed ? manage_results(o) : run_search(o);
  });
}

}  // namespace tgc
