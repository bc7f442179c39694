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
  bool json = false;
  Overrides over;
};

int run_bisect(BisectOptions& o) {
  Session session = terminal_session(o.over);
  int worst = 0;
  bool any = false;
  auto status = for_each_graph(session, o.trial.input, o.trial.kernel, [&](Loaded graph) -> Status {
    any = true;
    if (graph.is_tensor_graph)
      return Diag{.message = "'" + graph.info.name + "' is a tensor graph", .expected = "a kernel"};
    BisectReport report = bisect(session, graph, o.trial);
    worst = std::max(worst, report.exit_code());
    if (o.json) print(report.json());
    else if (report.error.empty()) print(report.text());
    else trouble({.message = "kernel '" + report.kernel + "': " + report.error});
    return Unit{};
  });
  if (!status) return trouble(status.diag());
  return any ? worst : trouble({.message = "nothing was run: there is no graph in it", .file = o.trial.input});
}

}  // namespace

void add_bisect(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<BisectOptions>();
  TrialSpec& t = o->trial;
  CLI::App* cmd = app.add_subcommand("bisect", "who is to blame for a kernel that computes something else");
  cmd->add_option("INPUT", t.input, "kernels: a file of any kind, FILE#ID for one record; default: standard input");
  add_trial_options(
      *cmd, t,
      "where it fails, as `tgc run --device` takes it; REF: the linear list is run by REF. Default: --target, else the "
      "target that the input says, else CPU:LLVM");
  cmd->add_flag("--json", o->json, "one JSON object a kernel");
  add_pipeline_options(*cmd, o->over, false);
  cmd->footer("Exit codes: 0 nothing to blame, 1 someone is, 2 trouble. Faults to try it on: `tgc help faults`.");
  cmd->callback([o, &exit_code] { exit_code = run_bisect(*o); });
}

}  // namespace tgc
