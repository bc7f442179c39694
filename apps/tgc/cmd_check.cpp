#include "apps/tgc/options.h"
#include "lib/compare/check_merge.h"
#include "lib/compare/replay.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

struct CheckOptions {
  std::vector<std::string> files, reports_to_merge;
  std::string stages, shard = "1/1", merged, live_python;
  ReplayPlan plan;
  CiOptions ci;
  bool json = false, isolates_stages = false, traces_rewrites = false, should_list_differences = false;
  int num_to_explain = 0;
  unsigned num_jobs = 0;
};

class CheckCommand {
 public:
  explicit CheckCommand(const CheckOptions& options)
      : options_(options), session_(make_terminal_session(options.num_jobs, options.live_python)) {}

  int run() {
    ReplayPlan plan = options_.plan;
    plan.check_plan = require_value(make_record_checker(session_)->make_plan(options_.stages));
    plan.check_plan.isolates_stages = options_.isolates_stages;
    plan.check_plan.traces_rewrites = options_.traces_rewrites;
    plan.check_plan.explains_difference = options_.num_to_explain > 0 || options_.ci.requests_reports();
    plan.check_plan.uses_color = uses_color(options_.json ? 2 : 1) && !options_.ci.requests_reports();
    plan.shard = require_value(Shard::parse(options_.shard));
    for (const std::string& spec : options_.files) {
      auto status = replay(session_, spec, plan,
                           [&](const std::string& file, const RecordReport& report) { add_report(file, report); });
      if (status) continue;
      if (session_.is_cancelled()) (options_.json ? print_output(summary_.json()) : print_report(summary_.text()));
      return report_error(status.diag());
    }
    if (summary_.num_records() || options_.json) print_report(options_.json ? summary_.json() : summary_.text());
    write_ci_reports(options_.ci, ci_report_, options_.json);
    require_value(summary_.check_compared(!options_.plan.record_filter.empty()));
    return summary_.are_all_identical() ? 0 : 1;
  }

 private:
  void add_report(const std::string& file, const RecordReport& report) {
    summary_.add_report(report);
    if (options_.ci.requests_reports()) ci_report_.add_case(make_ci_case(file, report));
    if (!report.first_difference.empty()) {
      if (options_.should_list_differences && !options_.json)
        show_text(report.id + "\t" + report.target + "\t" + report.first_difference + "\n");
      if (num_shown_ < options_.num_to_explain) num_shown_++, explain_difference(file, report);
    }
    session_.report_progress(std::to_string(summary_.num_records()) + " records, " +
                             std::to_string(summary_.num_identical()) + " identical");
  }

  // With --json, standard output must have only JSON.
  void show_text(const std::string& text) {
    progress_line().clear();
    if (options_.json) print_message(text);
    else print_report(text), flush_output();
  }

  void explain_difference(const std::string& file, const RecordReport& r) {
    show_text("--- " + record_label(r.id, r.target) + ": " + r.first_difference + "\n" + r.explanation +
              "  again: tgc check " + file + " --id=" + r.id + " --filter=" + r.target +
              (options_.stages.empty() ? "" : " --stages='" + options_.stages + "'") +
              (options_.live_python.empty() ? "" : " --live=" + options_.live_python) +
              (options_.isolates_stages ? " --isolated" : "") + (options_.traces_rewrites ? " --traced" : "") +
              " --show=1\n");
  }

  const CheckOptions& options_;
  Session session_;
  ReplaySummary summary_;
  CiReport ci_report_ = make_empty_check_report();
  int num_shown_ = 0;
};

int merge_reports(const CheckOptions& o) {
  auto merged = require_value(merge_checks(o.reports_to_merge));
  if (o.merged.empty()) print_output(merged.json);
  else require_value(write_file(o.merged, merged.json));
  return merged.are_all_identical ? 0 : 1;
}

}  // namespace

void add_check(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<CheckOptions>();
  cmd.set_description("Replay golden records and compare every stage with what tinygrad recorded.",
                      "tgc check golden.jsonl.gz --stages=linear,source --show=1",
                      "--stages takes names, aliases, spans a..b, and:\n"
                      "  graphs   all graph stages       linear, source, program, kernels   the results of that name\n"
                      "  text     parse and print every recorded text       forms   the same by way of JSON and repr\n"
                      "  resume   resume at every stage from its dump       spec    verify every graph\n"
                      "  all      all of these but resume\n"
                      "Default: all but text, forms, resume and spec.");
  CLI::App* join = cmd->add_subcommand("merge", "Add up reports of `tgc check --json`, of shards or of files.");
  join->add_option("REPORTS", o.reports_to_merge, "what `tgc check --json` printed")->required();
  join->add_option("-o,--output", o.merged, "a file for the sum; default: standard output");
  cmd.add_positional("GOLDENS", o.files, "golden files, plain or gzip, or FILE#ID for one record");
  cmd.set_group(OptionGroup::Input);
  cmd.add_option("--id", o.plan.id, "ID", "check only the record of that id");
  cmd.add_option("--filter", o.plan.record_filter, "TEXT",
                 "check only records whose id, target or device contains TEXT");
  cmd.add_option("--shard", o.shard, "K/N", "check the Kth of N parts of the records of each file");
  cmd.set_group(OptionGroup::Comparison);
  cmd.add_option("--stages", o.stages, "LIST", "compare these stages; see below");
  auto* isolates_stages =
      cmd.add_cli_flag("--isolated", o.isolates_stages, "run each stage on tinygrad's graph of the stage before");
  auto* traced =
      cmd.add_cli_flag("--traced", o.traces_rewrites, "attach an observer, as trace and stats do, without fast paths");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json, "print the counts as JSON");
  cmd.add_number_option("--show", o.num_to_explain, "N", 0, kMaxShownItems,
                        "print the first N differences: the first stage and a line diff");
  add_ci_options(cmd, o.ci);
  cmd.add_cli_flag("--list", o.should_list_differences, "print one line per differing record: id, target, first stage");
  cmd.set_group(OptionGroup::Pipeline);
  cmd.add_jobs_option(o.num_jobs, "one per processor");
  cmd.add_cli_flag(kLiveOption, o.live_python, kLiveOptionHelp)->excludes(isolates_stages)->excludes(traced);
  cmd.set_action([&o, join] {
    if (join->parsed() && o.ci.has_report_files())
      return report_error({.message = "merge takes no --junit or --sarif"});
    if (join->parsed()) return merge_reports(o);
    return o.files.empty() ? report_error({.message = "GOLDENS is required"}) : CheckCommand(o).run();
  });
}

}  // namespace tgc
