// tgc dump [INPUT]: run the pipeline and print what was asked for.
#include <CLI/CLI.hpp>

#include "apps/tgc/commands.h"
#include "apps/tgc/dump_output.h"
#include "apps/tgc/options.h"
#include "apps/tgc/terminal.h"
#include "lib/driver/environment.h"
#include "lib/driver/source.h"
#include "lib/recordings/foreign_recordings.h"
#include "lib/run/debug_prints.h"
#include "lib/trace/watchers.h"

namespace tgc {
namespace {

struct DumpOptions {
  std::string input = "-", kernel, stage, format, output;
  bool json = false, recorded = false;
  unsigned jobs = 0;
  CompileOptions compile;
  Overrides over;
};

int dump(const DumpOptions& o) {
  const std::string format = o.json ? "json" : o.format;
  auto plan = make_dump_plan(o.stage, format);
  // the stages of another release are its own; that is looked up, by a second look at the file, when they are not ours
  if (!plan && !foreign_producer(o.input).empty()) plan = make_dump_plan("", format);
  if (!plan) return trouble(plan.diag());
  Session session = terminal_session(with_found_opts(o.over), o.jobs);
  session.compile = o.compile;
  plan->jobs = session.jobs;
  plan->self_describing = !o.output.empty();
  plan->progress = [&](size_t done, size_t of) {
    session.progress("kernel " + std::to_string(done) + " of " + std::to_string(of));
  };
  DumpOutput out(o.output, plan->format == Format::Json);
  StatsWatcher counter([](const StageRow& row) { return has_rewrites(row); });
  if (tracks_match_stats()) plan->watcher = &counter;
  std::string_view begun_at;  // the stage that the last graph said it is the result of
  auto status = for_each_graph(session, o.input, o.kernel, [&](InputGraph graph) -> Status {
    if (graph.graph->is_foreign()) {
      auto texts = foreign_texts(graph, o.stage, plan->format.value_or(Format::Pyrender));
      return texts ? out.write(*texts) : Status(texts.diag());
    }
    if (o.recorded) {
      auto texts = recorded_texts(graph, *plan);
      return texts ? out.write(*texts) : Status(texts.diag());
    }
    DebugPrints debug(session, graph.graph->settings());
    DumpPlan own = *plan;
    if (debug.watches_kernels()) own.afterwards = [&](Compilation& c) { return debug.compiled(c); };
    auto compilation = session.begin(std::move(graph));
    if (!compilation) return compilation.diag();
    if (const StageRow* at = compilation->begun_at()) begun_at = at->name;
    auto texts = dump_texts(std::move(*compilation), own);
    return texts ? out.write(*texts) : Status(texts.diag());
  });
  if (!status) return trouble(status.diag());
  if (!out.written() && !plan->only_changed)
    return trouble({.message = "no graph of the input has '" + o.stage + "'", .file = o.input == "-" ? "" : o.input,
                    .expected = begun_at.empty() ? "stages that apply to it: `tgc dump --stage=changed` shows those "
                                                   "that do something"
                                                 : "stages after '" + std::string(begun_at) +
                                                       "', where the input begins"});
  if (auto written = out.release(); !written) return trouble(written.diag());
  if (plan->input_only) (void)fault_warnings();  // nothing was made that one could have been in
  if (plan->watcher) session.events->debug(stats_text(counter.stats.by_rule()));
  return 0;
}

}  // namespace

void add_dump(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<DumpOptions>();
  CLI::App* cmd = app.add_subcommand("dump", "run the pipeline, print what was asked for");
  cmd->add_option(
      "INPUT", o->input,
      "a file of any kind (pyrender, repr, print_uops, JSON, golden records), FILE#ID for one id; default: "
      "standard input");
  cmd->add_option(
         "--stage", o->stage,
         "which stages to print: names, aliases, spans a..b, 'all' (but what compilers make), 'changed' (those that "
         "changed the graph), "
         "separated by commas; `tgc stages` lists them. Default: the input as it is, in tinygrad's letters alone "
         "(--stage=ast and -o say its target and settings, too)")
      ->type_name("LIST");
  cmd->add_option("--format", o->format, "pyrender (default), uops, nodes, repr, json or dot")->type_name("F");
  cmd->add_option("-o,--output", o->output, "a file for one text, a folder for several: KERNEL.NN.STAGE.EXT")
      ->type_name("DIR|FILE");
  cmd->add_flag("--json", o->json, "the same as --format=json");
  cmd->add_option(
         "--from", o->over.from,
         "the input is the graph after that stage, of a record what it holds of that stage: go on with the next one")
      ->type_name("STAGE");
  cmd->add_flag("--recorded", o->recorded,
                "of golden records: what the record holds of the stages, not what tgc makes of its AST");
  add_size_option(*cmd, o->over);
  add_kernel_option(*cmd, o->kernel);
  cmd->add_option("-j", o->jobs, "threads for the kernels of a tensor graph; default: one per processor")
      ->type_name("N")
      ->check(whole_number(1, kMostThreads));
  cmd->add_flag("--optimized", o->compile.optimized, "with llvm-ir: the module after LLVM's O2");
  cmd->add_flag("--lines", o->compile.lines, "with asm and sass: the source line that instructions came from");
  cmd->add_option("--machine", o->compile.machine,
                  "with llvm-ir, asm and binary of CPU targets: x86_64[:CPU] or aarch64[:CPU]; default: this computer")
      ->type_name("M");
  add_weights_option(*cmd, o->over);
  add_pipeline_options(*cmd, o->over);
  cmd->callback([o, &exit_code] { exit_code = dump(*o); });
}

}  // namespace tgc
