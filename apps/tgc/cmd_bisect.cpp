#include <set>

#include "apps/tgc/options.h"
#include "lib/bisect/bisect.h"
#include "lib/driver/source.h"
#include "lib/run/repro_command.h"

namespace tgc {
namespace {

struct BisectOptions {
  RunOptions trial;
  BisectPlan plan;
  bool json = false;
  CompileOverrides overrides{.imports_kernels = true, .records_live_rewrites = true};
};

int print_bisect_report(const BisectReport& report, bool json) {
  if (json) print_output(report.json());
  else if (report.error.empty()) print_report(report.text());
  else report_error({.message = "'" + report.kernel + "': " + report.error});
  return report.exit_code();
}

int run_bisect(BisectOptions& o) {
  Session session = make_terminal_session(o.overrides);
  const std::string& command = o.plan.test_command;
  if (!command.empty()) require_value(check_takes_file("--cmd=" + command, command));
  if (require_value(is_model_file(o.trial.input.name)))
    return print_bisect_report(bisect_model(session, o.trial.input.name, o.trial, o.plan), o.json);
  GraphSource source = require_value(GraphSource::open(session, o.trial.input.name, o.trial.input.kernel));
  auto graph = source.next_graph();
  if (graph && !*graph)
    return report_error({.message = "the input has no graph", .file = source.name().display_name()});
  int worst = 0;
  bool are_all_same = true;
  std::set<std::string> bound;  // variables of --var that a kernel has
  for (o.trial.input.is_only_kernel = true; graph && *graph;) {
    if (session.is_cancelled()) return report_error({.message = "cancelled"});
    auto following = source.next_graph();
    if (following && *following) o.trial.input.is_only_kernel = false;
    BisectReport report = (*graph)->is_tensor_graph ? bisect_tensor_graph(session, **graph, o.trial, o.plan)
                                                    : bisect(session, **graph, o.trial, o.plan);
    worst = std::max(worst, print_bisect_report(report, o.json));
    are_all_same &= report.verdict.kind == Verdict::Kind::Same;
    bound.insert(report.variables.begin(), report.variables.end());
    graph = std::move(following);
  }
  require_value(std::move(graph));
  for (auto& [name, value] : o.trial.input.variables)
    if (!o.trial.input.is_only_kernel && !bound.contains(name))
      worst = report_error({.message = "no kernel has a variable '" + name + "'"});
  if (worst == 0 && are_all_same) note_unchecked_schedules(session, o.trial.input.name, "bisect");
  return worst;
}

}  // namespace

void add_bisect(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<BisectOptions>();
  RunOptions& t = o.trial;
  cmd.set_description("Find the rewrite, renderer or compiler pass that makes a kernel compute a wrong result.",
               "tgc bisect kernel.uop --device=CUDA",
               "Exit codes: 0 nothing is wrong, or only a known fault of tinygrad that the given arrays do not show;\n"
               "1 a culprit was found; 2 trouble. Faults to try: `tgc help faults`.");
  add_input_options(cmd, t.input.name, t.input.kernel);
  add_run_options(cmd, t, o.overrides,
                  "where it fails, as `tgc run --device`; REF runs the linear list; default: as `tgc run`");
  cmd.set_group(OptionGroup::Input);
  cmd.add_option("--from", o.overrides.start_stage, "STAGE", "search only after this stage, whose result the input is");
  cmd.add_cli_flag("--recorded", t.input.should_run_recorded, "run the linear list that a golden record holds");
  cmd.set_group(OptionGroup::Device);
  cmd.add_cli_flag("--sanitize", t.device.should_use_sanitizer,
                   "run C or LLVM IR (--device=CPU) under AddressSanitizer");
  cmd.set_group(OptionGroup::Comparison);
  cmd.add_cli_flag("--strict", o.plan.is_strict, "exit with 1 for a known fault of tinygrad, too");
  cmd.add_cli_flag("--each-stage", t.compare.should_run_each_stage,
                   "report a stage with a wrong result, although the kernel is right");
  cmd.add_option("--against", o.plan.golden_input, "GOLDEN",
                 "find the first stage that differs from a golden record instead");
  cmd.add_option("--tinygrad", o.plan.tinygrad_command, "PYTHON",
                 "find the first stage that differs from this tinygrad 0.12.0")
      ->excludes("--against");
  cmd.add_option("--cmd", o.plan.test_command, "'SCRIPT {}'",
                 "find the first rewrite after which this command exits with 0");
  cmd.add_cli_flag("--crash", o.plan.may_crash, "find where tgc itself crashes, by compiling in a process of its own");
  cmd.set_group(OptionGroup::Search);
  cmd.add_number_option("--seconds", o.plan.limit_seconds, "S", 0, kMaxTimeoutSeconds,
                        "of a kernel: give up after this time (`unresolved`)");
  add_repro_option(cmd, t.output.repro_path);
  cmd.add_json_flag(o.json, "print one JSON object per kernel");
  add_pipeline_options(cmd, o.overrides, false);
  cmd.set_action([&o] { return run_bisect(o); });
}

}  // namespace tgc
