// tgc bisect [INPUT]: who is to blame.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/session/bisect.h"
#include "lib/session/source.h"

namespace tgc {
namespace {

struct BisectOptions {
  TrialSpec trial;
  BisectPlan plan;
  bool json = false;
  Overrides over;
};

int tell(const BisectReport& report, bool json) {
  if (json) print(report.json());
  else if (report.error.empty()) print(report.text());
  else trouble({.message = "'" + report.kernel + "': " + report.error});
  return report.exit_code();
}

int run_bisect(BisectOptions& o) {
  Session session = terminal_session(o.over);
  auto is_model = is_model_file(o.trial.input);
  if (!is_model) return trouble(is_model.diag());
  if (*is_model) return tell(bisect_model(session, o.trial.input, o.trial), o.json);
  int worst = 0;
  auto status = for_each_graph(session, o.trial.input, o.trial.kernel, [&](Loaded graph) -> Status {
    BisectReport report = graph.is_tensor_graph ? bisect_tensor_graph(session, graph, o.trial)
                                                : bisect(session, graph, o.trial, o.plan);
    worst = std::max(worst, tell(report, o.json));
    return Unit{};
  });
  return status ? worst : trouble(status.diag());
}

}  // namespace

void add_bisect(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<BisectOptions>();
  TrialSpec& t = o->trial;
  CLI::App* cmd = app.add_subcommand("bisect", "who is to blame for a kernel or a model that computes something else");
  auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return cmd->add_option(name, value, help)->type_name(type);
  };
  cmd->add_option("INPUT", t.input,
                  "kernels, tensor graphs of any kind, FILE#ID for one record; an ONNX model; default: standard input");
  add_trial_options(
      *cmd, t,
      "where it fails, as `tgc run --device` takes it; REF: the linear list is run by REF. Default: --target, else the "
      "target that the input says, else CPU:LLVM");
  cmd->add_flag("--recorded", t.recorded, "it is a golden record's own list that fails, not what tgc makes");
  cmd->add_flag("--sanitize", t.sanitize, "run a kernel's C or LLVM IR (--device=CPU) under AddressSanitizer");
  add_emulator_options(*cmd), add_weights_option(*cmd, o->over);
  option("--against", o->plan.against, "GOLDEN",
         "golden records (FILE#ID): where tgc begins to make something else of the kernel than tinygrad made");
  option("--cmd", o->plan.command, "'SCRIPT {}'",
         "instead of running it: the first stage, and its first rewrite, after which this shell command ends with 0; "
         "{} stands for a file with the graph");
  cmd->add_flag("--crash", o->plan.crash, "tgc itself dies: compile in a process of its own and say where that ends");
  cmd->add_flag("--json", o->json, "one JSON object a kernel");
  add_pipeline_options(*cmd, o->over, false);
  cmd->footer("Exit codes: 0 nothing to blame, 1 someone is, 2 trouble. Faults to try it on: `tgc help faults`.");
  cmd->callback([o, &exit_code] { exit_code = run_bisect(*o); });
}

}  // namespace tgc
