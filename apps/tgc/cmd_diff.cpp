#include "apps/tgc/options.h"
#include "lib/compare/diff_input.h"

namespace tgc {
namespace {

struct DiffCommandOptions {
  std::string a, b;
  DiffPlan plan;
  CiOptions ci;
};

int run_diff(DiffCommandOptions& o) {
  o.plan.diff_style.uses_color = uses_color(1) && !o.ci.requests_reports();
  const DiffReport report = require_value(diff_inputs(make_terminal_session(0), o.a, o.b, o.plan));
  o.plan.as_json ? print_output(report.text) : print_report(report.text);
  write_ci_reports(o.ci, report.ci, o.plan.as_json);
  return report.is_same ? 0 : 1;
}

}  // namespace

void add_diff(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<DiffCommandOptions>();
  cmd.set_description("Compare two graphs by structure, or two recordings stage by stage.",
                      "tgc diff before.jsonl.gz after.jsonl.gz --show=1");
  cmd.add_positional("A", o.a, "a graph, golden records (FILE or FILE#ID), or a folder that `tgc dump -o` wrote")
      ->required();
  cmd.add_positional("B", o.b, "the same; default: what tgc makes of A's records");
  cmd.set_group(OptionGroup::Input);
  cmd.add_option("--stage", o.plan.stage, "STAGE", "of recordings: compare only this stage");
  cmd.add_cli_flag("--sources-only", o.plan.skips_stages, "of recordings: compare only the kernels' sources");
  cmd.set_group(OptionGroup::Comparison);
  cmd.add_option("--ignore", o.plan.ignored_differences, "LIST",
                 "ignore names, tags, metadata, buffers or order; separated by commas");
  cmd.add_option("--renames", o.plan.renames_file, "FILE",
                 "of two releases: a file of renames, or none; default: the known renames");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.plan.as_json);
  add_ci_options(cmd, o.ci);
  cmd.add_cli_flag("-q,--quiet", o.plan.is_quiet, "print nothing; the exit code is the result");
  cmd.add_number_option("--show", o.plan.max_differences, "N", 0, kMaxShownItems,
                        "of recordings: print N differences in detail; default: 20");
  cmd.add_number_option("--max", o.plan.diff_style.max_changes, "N", 0, kMaxShownItems,
                        "print at most N changes of a graph; default: 40");
  cmd.set_action([&o] { return run_diff(o); });
}

}  // namespace tgc
