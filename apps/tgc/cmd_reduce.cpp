#include <thread>

#include "apps/tgc/options.h"
#include "lib/driver/source.h"
#include "lib/reduce/reduce.h"
#include "lib/run/repro_command.h"
#include "lib/support/write_file.h"

namespace tgc {
namespace {

using Kind = FailureSignature::Kind;

struct ReduceOptions {
  RunOptions trial;
  std::string symptom = "wrong", output, tinygrad;
  bool json = false;
  CompileOverrides overrides{.records_live_rewrites = true};
};

// Returns the command that repeats the failure.
std::string repeat_command(const Session& session, const ReduceOptions& o, const FailureCriterion& criterion) {
  const std::string file = quote_for_shell(o.output);
  if (criterion.kind == Kind::Differs) return "tgc bisect " + file + " --tinygrad=" + quote_for_shell(o.tinygrad);
  if (criterion.kind == Kind::Script) return command_with_file(criterion.script_command, file);
  return bundle_command(session, o.output);
}

ReduceReport run_reduction(const Session& session, const ReduceOptions& o, const FailureCriterion& criterion) {
  auto is_model = is_model_file(o.trial.input.name);
  if (!is_model) return {.error = is_model.diag().text()};
  if (*is_model) return reduce_model(session, o.trial.input.name, o.trial, criterion);
  auto source = GraphSource::open(session, o.trial.input.name, o.trial.input.kernel);
  if (!source) return {.error = source.diag().text()};
  auto graph = source->next_graph();
  if (!graph) return {.error = graph.diag().text()};
  if (!*graph) return {.error = "there is no graph in " + source->name().display_name()};
  if (auto following = source->next_graph(); following && *following)
    session.report_note("several graphs: the first, '" + (*graph)->info.name + "', is reduced");
  return reduce_input(session, **graph, o.trial, criterion);
}

int run_reduce(ReduceOptions& o) {
  FailureCriterion criterion = require_value(parse_criterion(o.symptom));
  if (criterion.kind == Kind::Differs) criterion.script_command = o.tinygrad;
  if (criterion.kind == Kind::Differs && o.tinygrad.empty())
    return report_error({.message = "--while=differs needs tinygrad", .expected = "--tinygrad=PYTHON"});
  o.overrides.imports_kernels = !o.overrides.live_command.empty();
  Session session = make_terminal_session(o.overrides, std::max(1u, std::thread::hardware_concurrency()));
  ReduceReport report = run_reduction(session, o, criterion);
  if (!report.error.empty()) return o.json ? (print_output(report.json()), 2) : report_error({.message = report.error});
  require_value(write_file(o.output, report.bundle_text));
  if (o.json) print_output(report.json());
  else print_report(report.text() + "  again: " + repeat_command(session, o, criterion) + "\n");
  return 0;
}

}  // namespace

void add_reduce(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<ReduceOptions>();
  RunOptions& t = o.trial;
  cmd.set_description("Reduce a failing kernel to the smallest one that still fails in the same way, as one file.",
               "tgc reduce kernel.uop --while=wrong -o small.repro",
               "--while takes:\n"
               "  wrong            the result differs from REF's (default)\n"
               "  crash            the kernel dies\n"
               "  differs          the texts differ from those of --tinygrad\n"
               "  endless          a rewrite does not end\n"
               "  refused          a stage or the renderer returns an error\n"
               "  compile          the compiler returns an error\n"
               "  'cmd SCRIPT {}'  the script, with a repro bundle for {}, exits with 0\n"
               "A smaller kernel must fail with the same kind and message and, if `tgc bisect` names a rewrite, with\n"
               "the same rule and stage. Ctrl-C keeps the best result so far.\n"
               "Exit codes: 0 reduced, 2 trouble, for example if nothing fails.");
  add_input_options(cmd, t.input.name, t.input.kernel);
  add_run_options(cmd, t, o.overrides, "where it fails, as `tgc run --device`");
  cmd.set_group(OptionGroup::Search);
  cmd.add_option("--while", o.symptom, "WHAT", "the failure to keep; see below");
  cmd.add_option("--tinygrad", o.tinygrad, "PYTHON", "for differs: a Python with tinygrad 0.12.0 and tgc.export");
  cmd.set_group(OptionGroup::Output);
  cmd.add_option("-o,--output", o.output, "FILE", "write this repro bundle, which `tgc run` repeats")->required();
  cmd.add_json_flag(o.json, "print one JSON object");
  add_pipeline_options(cmd, o.overrides, false);
  cmd.set_action([&o] { return run_reduce(o); });
}

}  // namespace tgc
