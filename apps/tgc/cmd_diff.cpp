// tgc diff: compares two graphs, or two runs stage by stage; without B, compares records with what tgc makes of them.
#include "apps/tgc/options.h"
#include "lib/compare/diff_input.h"

namespace tgc {
namespace {

struct DiffCommand {
  std::string a, b;
  DiffPlan plan;
  CiOptions ci;
};

int diff(DiffCommand& o) {
  o.plan.style.color = use_color(1) && !o.ci.any();
  const DiffReport report = require(diff_inputs(terminal_session(0), o.a, o.b, o.plan));
  o.plan.json ? print(report.text) : print_report(report.text);
  finish_ci(o.ci, report.ci, o.plan.json);
  return report.same ? 0 : 1;
}

}  // namespace

void add_diff(Command& cmd) {
  auto& o = cmd.make<DiffCommand>();
  cmd.describe("Compare two graphs by structure, or two recordings stage by stage.",
               "tgc diff before.jsonl.gz after.jsonl.gz --show=1");
  cmd.positional("A", o.a, "a graph, golden records (FILE or FILE#ID), or a folder that `tgc dump -o` wrote")
      ->required();
  cmd.positional("B", o.b, "the same; default: what tgc makes of A's records");
  cmd.group(Group::Input);
  cmd.option("--stage", o.plan.stage, "STAGE", "of recordings: compare only this stage");
  cmd.flag("--sources-only", o.plan.sources_only, "of recordings: compare only the kernels' sources");
  cmd.group(Group::Comparison);
  cmd.option("--ignore", o.plan.ignore, "LIST", "ignore names, tags, metadata, buffers or order; separated by commas");
  cmd.option("--renames", o.plan.renames, "FILE",
             "of two releases: a file of renames, or none; default: the known renames");
  cmd.group(Group::Output);
  cmd.json(o.plan.json);
  add_ci_options(cmd, o.ci);
  cmd.flag("-q,--quiet", o.plan.quiet, "print nothing; the exit code is the result");
  cmd.number("--show", o.plan.show, "N", 0, kMostShown, "of recordings: print N differences in detail; default: 20");
  cmd.number("--max", o.plan.style.max_changes, "N", 0, kMostShown, "print at most N changes of a graph; default: 40");
  cmd.runs([&o] { return diff(o); });
}

}  // namespace tgc
