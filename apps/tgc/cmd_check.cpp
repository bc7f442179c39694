// tgc check GOLDENS...: replay golden records and compare every stage, to the letter.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/replay/check_merge.h"
#include "lib/replay/replay.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

struct CheckOptions {
  std::vector<std::string> files, reports;
  std::string stages, shard = "1/1", merged;
  ReplayPlan plan;
  bool json = false, isolated = false, traced = false, list = false;
  int show = 0;
  unsigned jobs = 0;
};

// Adds up the reports, in the order of the records, and prints differences as they come.
class Checker {
 public:
  explicit Checker(const CheckOptions& options) : o_(options), session_(terminal_session(options.jobs)) {}

  int run() {
    auto check = make_check_plan(o_.stages);
    if (!check) return trouble(check.diag());
    check->isolated = o_.isolated;
    check->traced = o_.traced;
    check->explain = o_.show > 0;
    check->color = use_color(o_.json ? 2 : 1);
    auto shard = Shard::parse(o_.shard);
    if (!shard) return trouble(shard.diag());
    ReplayPlan plan = o_.plan;
    plan.shard = *shard;
    plan.check = std::move(*check);
    for (const std::string& spec : o_.files) {
      auto status =
          replay(session_, spec, plan, [&](const std::string& file, const RecordReport& report) { add(file, report); });
      if (status) continue;
      if (session_.cancelled()) print(o_.json ? summary_.json() : summary_.text());  // what there is
      return trouble(status.diag());
    }
    if (summary_.records() || o_.json) print_report(o_.json ? summary_.json() : summary_.text());
    if (!summary_.compared()) return nothing_compared();
    return summary_.identical() + summary_.skipped() == summary_.records() ? 0 : 1;
  }

 private:
  void add(const std::string& file, const RecordReport& report) {
    summary_.add(report);
    if (!report.first.empty()) {
      if (o_.list && !o_.json) show(report.id + "\t" + report.target + "\t" + report.first + "\n");
      if (shown_ < o_.show) shown_++, explain(file, report);
    }
    session_.progress(std::to_string(summary_.records()) + " records, " + std::to_string(summary_.identical()) +
                      " identical");
  }

  // With --json standard output is the JSON alone.
  void show(const std::string& text) {
    progress_line().clear();
    if (o_.json) tell(text);
    else print_report(text), flush_output();
  }

  void explain(const std::string& file, const RecordReport& r) {
    show("--- " + r.id + " (" + r.target + "): " + r.first + "\n" + r.explanation + "  again: tgc check " + file +
         " --id=" + r.id + " --filter=" + r.target + (o_.stages.empty() ? "" : " --stages='" + o_.stages + "'") +
         (o_.isolated ? " --isolated" : "") + (o_.traced ? " --traced" : "") + " --show=1\n");
  }

  int nothing_compared() const {
    if (summary_.skipped() && summary_.skipped() == summary_.records())
      return trouble({.message = "nothing was compared: tgc can replay none of the records"});
    if (summary_.records())
      return trouble(
          {.message = "nothing was compared",
           .expected = "stages that the records hold; " + std::to_string(summary_.records()) + " were looked at"});
    return trouble(
        {.message = "nothing was compared: no record was chosen",
         .expected = o_.plan.filter.empty() ? "golden files with records" : "a --filter that ids or targets contain"});
  }

  const CheckOptions& o_;
  Session session_;
  ReplaySummary summary_;
  int shown_ = 0;
};

int merge(const CheckOptions& o) {
  auto merged = merge_checks(o.reports);
  if (!merged) return trouble(merged.diag());
  if (o.merged.empty()) print(merged->json);
  else if (auto written = write_file(o.merged, merged->json); !written) return trouble(written.diag());
  return merged->all_identical ? 0 : 1;
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<CheckOptions>();
  CLI::App* cmd = app.add_subcommand("check", "replay golden records, compare every stage to the letter");
  cmd->add_option("GOLDENS", o->files, "golden files, plain or gzip; FILE#ID: that record alone");
  cmd->add_option(
         "--stages", o->stages,
         "what to compare: names, aliases, spans a..b, and graphs (all graph stages), linear, source, program, "
         "kernels, text (read every text and write it back), forms (the same by way of JSON and repr), resume (what a "
         "dump of any stage writes is read and goes on to the same end), spec (every graph keeps the specification), "
         "all (but resume); separated by commas. Default: all but text, forms, resume and spec")
      ->type_name("LIST");
  cmd->add_flag("--json", o->json, "print the counts as JSON");
  cmd->add_option("--show", o->show, "show the first N differences, each with its first stage and a line diff")
      ->type_name("N")
      ->check(whole_number(0, kMostShown));
  cmd->add_flag("--list", o->list, "print a line for each record that differs: id, target, first stage");
  cmd->add_option("--id", o->plan.id, "only the record of that id")->type_name("ID");
  cmd->add_option("--filter", o->plan.filter, "only records whose id, target or device contains TEXT")
      ->type_name("TEXT");
  cmd->add_flag("--isolated", o->isolated,
                "start every stage from tinygrad's graph of the stage before, to test each on its own");
  cmd->add_flag("--traced", o->traced,
                "with an observer attached, as trace and stats have one: every rewrite is done one by one");
  cmd->add_option("-j", o->jobs, "threads; default: one per processor")
      ->type_name("N")
      ->check(whole_number(1, kMostThreads));
  cmd->add_option("--shard", o->shard, "the Kth of N parts of the records of each file")->type_name("K/N");
  CLI::App* join = cmd->add_subcommand("merge", "add up reports of --json, of shards or of files");
  join->add_option("REPORTS", o->reports, "what `tgc check --json` printed")->required();
  join->add_option("-o,--output", o->merged, "a file for the sum; default: standard output");
  cmd->callback([o, join, &exit_code] {
    if (join->parsed()) exit_code = merge(*o);
    else exit_code = o->files.empty() ? trouble({.message = "GOLDENS is required"}) : Checker(*o).run();
  });
}

}  // namespace tgc
