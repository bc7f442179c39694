// tgc conform: compares another implementation of the compiler with records of tinygrad, stage by stage.
#include "apps/tgc/options.h"
#include "lib/compare/conform.h"
#include "lib/records/input_file.h"

namespace tgc {
namespace {

struct ConformOptions {
  std::vector<std::string> goldens;
  std::string as = "text", baseline, map;
  bool json = false, write = false;
  CiOptions ci;
  ConformPlan plan;
};

int run(const ConformOptions& o) {
  ConformPlan plan = o.plan;
  plan.keeps_differences = o.ci.any();
  plan.style.color = use_color(1) && !plan.keeps_differences;
  plan.as = o.as == "text"        ? ConformComparison::Text
            : o.as == "structure" ? ConformComparison::Structure
                                  : ConformComparison::Values;
  if (!o.map.empty()) plan.map = require(GraphMap::read(require(read_file(o.map)), o.map));
  if (!o.baseline.empty() && !o.write) {  // report an unreadable baseline before running the tested compiler
    require(ConformReport{.as = o.as}.compare_to_baseline(o.baseline));
    plan.baseline = require(read_baseline(o.baseline, o.as));
  }
  ConformReport report = require(conform(terminal_session(1), o.goldens, plan));
  report.as = o.as;
  ConformCounts all = report.total();
  const bool answered = all.same || all.unchanged || all.different || all.not_supported;
  if (!report.ended.empty() && !answered) return trouble({.message = report.ended});
  if (o.write) require(report.write_baseline(o.baseline));
  else if (!o.baseline.empty()) require(report.compare_to_baseline(o.baseline));
  print_report(o.json ? report.json() : report.text(plan.style.color));
  finish_ci(o.ci, report.ci(plan.baseline), o.json);
  if (!report.ended.empty()) return trouble({.message = report.ended});
  if (!all.compared())
    return trouble({.message = "nothing was compared",
                    .expected = "records with stages that the command supports" +
                                std::string(all.unchanged ? " and that tinygrad changes" : "")});
  if (o.write) return 0;
  if (report.baseline_diff) return report.baseline_diff->worse.empty() ? 0 : 1;
  return all.same == all.compared() ? 0 : 1;
}

}  // namespace

void add_conform(Command& cmd) {
  auto& o = cmd.make<ConformOptions>();
  cmd.describe("Compare a port of the compiler with recorded stages of tinygrad, stage by stage.",
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
  cmd.positional("GOLDENS", o.goldens, "golden files, plain or gzip, or FILE#ID for one record")->required();
  cmd.group(Group::Input);
  cmd.option("--with", o.plan.command, "COMMAND", "the port: a shell command that answers each line with a line")
      ->required();
  cmd.option("--stage", o.plan.stage, "STAGE", "ask only for this stage");
  cmd.option("--map", o.map, "FILE", "translate the answers' JSON by this table, as in testdata/maps/svod.map");
  cmd.number("--timeout", o.plan.seconds, "S", 0.001, 86400, "restart the port after S seconds without answer (60)");
  cmd.group(Group::Comparison);
  cmd.option("--as", o.as, "", "compare text (default), structure (without names) or values (computed in REF)")
      ->check(CLI::IsMember({"text", "structure", "values"}));
  auto* baseline = cmd.option("--baseline", o.baseline, "FILE", "fail only for what conformed in this file");
  cmd.flag("--write-baseline", o.write, "write what conforms to the file of --baseline; keep its other records")
      ->needs(baseline);
  cmd.group(Group::Output);
  cmd.json(o.json, "print the counts as JSON");
  add_ci_options(cmd, o.ci);
  cmd.number("--show", o.plan.show, "N", 0, kMostShown, "print the first N differences; default: 3");
  cmd.runs([&o] { return run(o); });
}

}  // namespace tgc
