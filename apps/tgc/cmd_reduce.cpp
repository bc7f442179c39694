// tgc reduce INPUT --while=SYMPTOM -o FILE: the smallest kernel that still shows a failure.
#include <CLI/CLI.hpp>
#include <thread>

#include "apps/tgc/commands.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
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
  Overrides over;
};

Result<Wanted> wanted_of(const std::string& text) {
  if (text.starts_with("cmd ")) {
    if (auto status = check_takes_file("--while=" + text, text); !status) return status.diag();
    return Wanted{Kind::Script, text.substr(4)};
  }
  for (Kind kind : {Kind::Wrong, Kind::Crash, Kind::Differs, Kind::Endless, Kind::Refused, Kind::Compile})
    if (text == name_of(kind)) return Wanted{kind, ""};
  return Diag{.message = "--while=" + text + " is no symptom",
              .expected = "wrong, crash, differs, endless, refused, compile, or 'cmd SCRIPT {}'"};
}

// The command that shows it again: where a program of the user's said that it is there, that one.
std::string repro_command(const ReduceOptions& o, const Wanted& wanted) {
  const std::string file = shell_word(o.output);
  if (wanted.kind == Kind::Differs) return "tgc bisect " + file + " --tinygrad=" + shell_word(o.tinygrad);
  if (wanted.kind == Kind::Script) return with_file(wanted.script, file);
  return "tgc run " + file;
}

ReduceReport reduced(const Session& session, const ReduceOptions& o, const Wanted& wanted) {
  auto is_model = is_model_file(o.trial.input.name);
  if (!is_model) return {.error = is_model.diag().text()};
  if (*is_model) return reduce_model(session, o.trial.input.name, o.trial, wanted);
  auto source = Source::open(session, o.trial.input.name, o.trial.input.kernel);
  if (!source) return {.error = source.diag().text()};
  auto graph = source->next();
  if (!graph) return {.error = graph.diag().text()};
  if (!*graph) return {.error = "there is no graph in " + source->name().shown()};
  if (auto following = source->next(); following && *following)
    session.note("several graphs: the first, '" + (*graph)->info.name + "', is reduced");
  return reduce_input(session, **graph, o.trial, wanted);
}

int run_reduce(ReduceOptions& o) {
  auto wanted = wanted_of(o.symptom);
  if (!wanted) return trouble(wanted.diag());
  if (wanted->kind == Kind::Differs) wanted->script = o.tinygrad;
  if (wanted->kind == Kind::Differs && o.tinygrad.empty())
    return trouble({.message = "--while=differs needs tinygrad", .expected = "--tinygrad=PYTHON"});
  Session session = terminal_session(o.over, std::max(1u, std::thread::hardware_concurrency()));
  ReduceReport report = reduced(session, o, *wanted);
  if (!report.error.empty()) return o.json ? (print(report.json()), 2) : trouble({.message = report.error});
  if (auto status = write_file(o.output, report.bundle); !status) return trouble(status.diag());
  print(o.json ? report.json() : report.text() + "  again: " + repro_command(o, *wanted) + "\n");
  return 0;
}

}  // namespace

void add_reduce(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<ReduceOptions>();
  RunOptions& t = o->trial;
  CLI::App* cmd = app.add_subcommand("reduce", "the smallest kernel that still fails in the same way, as one file");
  auto option = [&](const char* name, auto& value, const char* type, const char* help) {
    return cmd->add_option(name, value, help)->type_name(type);
  };
  cmd->add_option(
      "INPUT", t.input.name,
      "a kernel; a tensor graph or an ONNX model, of whose kernels the first that fails is taken; default: standard "
      "input");
  option("--while", o->symptom, "WHAT",
         "what must stay: wrong (another result than REF's; the default), crash (the kernel dies), differs (from "
         "tinygrad's texts), endless (a rewrite that does not end), refused (by a stage or the renderer), compile (by "
         "the compiler), or 'cmd SCRIPT {}': the script, given a bundle in the place of {}, ends with 0");
  option("-o,--output", o->output, "FILE", "where the repro bundle goes: `tgc run FILE` says whether it still happens")
      ->required();
  option("--tinygrad", o->tinygrad, "PYTHON", "of differs: a Python with tinygrad 0.12.0 and tgc.export, or a command");
  add_trial_options(*cmd, t, "where it fails, as `tgc run --device` takes it");
  add_emulator_options(*cmd), add_weights_option(*cmd, o->over);
  cmd->add_flag("--json", o->json, "one JSON object");
  add_pipeline_options(*cmd, o->over, false);
  cmd->footer(
      "The failure stays the same one: its kind and message, and, where `tgc bisect` names a rewrite, its rule and "
      "stage.\nCtrl-C keeps the best so far. Exit codes: 0 reduced, 2 trouble, as when nothing fails.");
  cmd->callback([o, &exit_code] { exit_code = run_reduce(*o); });
}

}  // namespace tgc
