#include "apps/tgc/options.h"
#include "lib/compare/conform.h"
#include "lib/records/input_file.h"

namespace tgc {
namespace {

struct ConformOptions {
  std::vector<std::string> goldens;
  std::string comparison_name = "text", baseline, graph_map_path;
  bool json = false, should_write_baseline = false;
  CiOptions ci;
  ConformPlan plan;
};

int run_conform(const ConformOptions& o) {
  ConformPlan plan = o.plan;
  plan.keeps_differences = o.ci.requests_reports();
  plan.diff_style.uses_color = uses_color(1) && !plan.keeps_differences;
  plan.comparison = o.comparison_name == "text"        ? ConformComparison::Text
            : o.comparison_name == "structure" ? ConformComparison::Structure
                                  : ConformComparison::Values;
  if (!o.graph_map_path.empty())
    plan.graph_map = require_value(GraphMap::read(require_value(read_file(o.graph_map_path)), o.graph_map_path));
  // report an unreadable baseline before running the tested compiler
  if (!o.baseline.empty() && !o.should_write_baseline) {
    require_value(ConformReport{.comparison_name = o.comparison_name}.compare_to_baseline(o.baseline));
    plan.baseline = require_value(read_baseline(o.baseline, o.comparison_name));
  }
  ConformReport report = require_value(run_conformance(make_terminal_session(1), o.goldens, plan));
  report.comparison_name = o.comparison_name;
  ConformCounts all = report.total_counts();
  const bool answered = all.num_same || all.num_unchanged || all.num_different || all.num_not_supported;
  if (!report.end_reason.empty() && !answered) return report_error({.message = report.end_reason});
  if (o.should_write_baseline) require_value(report.write_baseline(o.baseline));
  else if (!o.baseline.empty()) require_value(report.compare_to_baseline(o.baseline));
  print_report(o.json ? report.json() : report.text(plan.diff_style.uses_color));
  write_ci_reports(o.ci, report.ci(plan.baseline), o.json);
  if (!report.end_reason.empty()) return report_error({.message = report.end_reason});
  if (!all.num_compared())
    return report_error({.message = "nothing was compared",
                         .expected = "records with stages that the command supports" +
                                std::string(all.num_unchanged ? " and that tinygrad changes" : "")});
  if (o.should_write_baseline) return 0;
  if (report.baseline_diff) return report.baseline_diff->worse_answers.empty() ? 0 : 1;
  return all.num_same == all.num_compared() ? 0 : 1;
}

}  // namespace

void add_conform(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<ConformOptions>();
  cmd.set_description("Compare a port of the compiler with recorded stages of tinygrad, stage by stage.",
               "tgc conform golden.jsonl.gz --with='python port.py' --as=structure",
               "Question: {\"id\":\"add.0\",\"stage\":\"expander\",\"target\":\"CPU:CLANG\",\"settings\":{},"
               "\"graph\":{...}}\n"
               "Answer:   {\"graph\":...} (a text that tgc reads, or its JSON), {\"not_supported\":true} or "
               "{\"error\":\"...\"}\n"
               "After the stages come `linear`, answered by a print_uops listing or by JSON with a \"list\", and,\n"
               "with --as=text, `source` of that list, answered by {\"source\":\"...\"}.\n"
               "Ratchet:  run once with --baseline=FILE --write-baseline, later with --baseline=FILE.\n"
               "Exit codes: 0 all answers conform (with --baseline: none is worse), 1 not so, 2 trouble: a port that\n"
               "answers nothing, or fails ten times in a row.");
  cmd.add_positional("GOLDENS", o.goldens, "golden files, plain or gzip, or FILE#ID for one record")->required();
  cmd.set_group(OptionGroup::Input);
  cmd.add_option("--with", o.plan.command, "COMMAND", "the port: a shell command that answers each line with a line")
      ->required();
  cmd.add_option("--stage", o.plan.stage, "STAGE", "ask only for this stage");
  cmd.add_option("--map", o.graph_map_path, "FILE",
                 "translate the answers' JSON by this table, as in testdata/maps/svod.map");
  cmd.add_number_option("--timeout", o.plan.limit_seconds, "S", 0.001, 86400,
                        "restart the port after S seconds without answer (60)");
  cmd.set_group(OptionGroup::Comparison);
  cmd.add_option("--as", o.comparison_name, "",
                 "compare text (default), structure (without names) or values (computed in REF)")
      ->check(CLI::IsMember({"text", "structure", "values"}));
  auto* baseline = cmd.add_option("--baseline", o.baseline, "FILE", "fail only for what conformed in this file");
  cmd.add_cli_flag("--write-baseline", o.should_write_baseline,
                   "write what conforms to the file of --baseline; keep its other records")
      ->needs(baseline);
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json, "print the counts as JSON");
  add_ci_options(cmd, o.ci);
  cmd.add_number_option("--show", o.plan.max_differences, "N", 0, kMaxShownItems,
                        "print the first N differences; default: 3");
  cmd.set_action([&o] { return run_conform(o); });
}

}  // namespace tgc
