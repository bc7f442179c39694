// tgc bisect [INPUT]: who is to blame.
#include <CLI/CLI.hpp>
#include <set>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/bisect/bisect.h"
#include "lib/driver/source.h"
#include "lib/run/repro_command.h"

namespace tgc {
namespace {

struct BisectOptions {
  RunOptions trial;
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
  const std::string& command = o.plan.command;
  if (!command.empty())
    if (auto status = check_takes_file("--cmd=" + command, command); !status) return trouble(status.diag());
  auto is_model = is_model_file(o.trial.input.name);
  if (!is_model) return trouble(is_model.diag());
  if (*is_model) return tell(bisect_model(session, o.trial.input.name, o.trial), o.json);
  auto source = Source::open(session, o.trial.input.name, o.trial.input.kernel);
  if (!source) return trouble(source.diag());
  auto graph = source->next();
  if (graph && !*graph) return trouble({.message = "there is no graph in it", .file = source->name().shown()});
  int worst = 0;
  std::set<std::string> bound;  // variables that a kernel has
  for (o.trial.input.is_only_kernel = true; graph && *graph;) {
    if (session.cancelled()) return trouble({.message = "cancelled"});
    auto following = source->next();
    if (following && *following) o.trial.input.is_only_kernel = false;
    BisectReport report = (*graph)->is_tensor_graph ? bisect_tensor_graph(session, **graph, o.trial)
                                                    : bisect(session, **graph, o.trial, o.plan);
    worst = std::max(worst, tell(report, o.json));
    bound.insert(report.variables.begin(), report.variables.end());
    graph = std::move(following);
  }
  if (!graph) return trouble(graph.diag());
  for (auto& [name, value] : o.trial.input.variables)
    if (!o.trial.input.is_only_kernel && !bound.contains(name))
      worst = trouble({.message = "no kernel has a variable '" + name + "'"});
  return worst;
}

}  // namespace

void add_bisect(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<BisectOptions>();
  RunOptions& t = o->trial;
  CLI::App* cmd = app.add_subcommand("bisect", "who is to blame for a kernel or a model that computes something else");
  auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return cmd->add_option(name, value, help)->type_name(type);
  };
  cmd->add_option("INPUT", t.input.name,
                  "kernels, tensor graphs of any kind, FILE#ID for one id; an ONNX model; default: standard input");
  add_trial_options(
      *cmd, t,
      "where it fails, as `tgc run --device` takes it; REF: the linear list is run by REF. Default: --target, else the "
      "target that the input says, else CPU:LLVM");
  cmd->add_flag("--recorded", t.input.recorded, "it is a golden record's own list that fails, not what tgc makes");
  cmd->add_flag("--sanitize", t.device.sanitize, "run a kernel's C or LLVM IR (--device=CPU) under AddressSanitizer");
  cmd->add_flag("--each-stage", t.compare.each_stage,
                "of a kernel: a graph on the way that computes something else counts, though the kernel does not");
  option("--seconds", o->plan.seconds, "S", "of a kernel: unresolved when it is not known by then")
      ->check(real_number(0, kMostSeconds));
  add_emulator_options(*cmd), add_weights_option(*cmd, o->over), add_repro_option(*cmd, t.output.repro);
  option("--against", o->plan.against, "GOLDEN",
         "golden records (FILE#ID): where tgc begins to make something else of the kernel than tinygrad made");
  option("--tinygrad", o->plan.tinygrad, "PYTHON",
         "the same of what a tinygrad 0.12.0 makes of it now: a Python with it and tgc.export, or a command")
      ->excludes("--against");
  option("--cmd", o->plan.command, "'SCRIPT {}'",
         "instead of running it: the first stage, and its first rewrite, after which this shell command ends with 0; "
         "{} stands for a file with the graph");
  option("--from", o->over.from, "STAGE",
         "the input is the graph after that stage, of a record what it holds of it: what follows is to blame");
  cmd->add_flag("--crash", o->plan.crash, "tgc itself dies: compile in a process of its own and say where that ends");
  cmd->add_flag("--json", o->json, "one JSON object a kernel");
  add_pipeline_options(*cmd, o->over, false);
  cmd->footer("Exit codes: 0 nothing to blame, 1 someone is, 2 trouble. Faults to try it on: `tgc help faults`.");
  cmd->callback([o, &exit_code] { exit_code = run_bisect(*o); });
}

}  // namespace tgc
