#include "apps/tgc/dump_output.h"
#include "apps/tgc/options.h"
#include "lib/compilation/pipeline.h"
#include "lib/compilation/watchers.h"
#include "lib/driver/session.h"
#include "lib/driver/source.h"
#include "lib/rules/match_stats.h"
#include "lib/run/debug_prints.h"

namespace tgc {
namespace {

struct DumpOptions {
  std::string input = "-", kernel, stage, format, output;
  bool json = false, why = false;
  unsigned num_jobs = 0;
  CompileOptions compile;
  CompileOverrides overrides;
  CLI::App* app;
};

// Returns true if the list of --stage selects the schedule of tgc's own pipeline.
bool explains_schedule(StageSelection& stages) {
  if (stages.is_empty()) return false;
  auto selected = stages.select_rows([](const StageRow&) { return true; });
  return selected && selected->has_row(get_stage_row(StageRow::Kind::Schedule));
}

// Returns true if the list of --stage names an output of a compiler.
bool compiles_source(const StageSelection& stages) {
  return std::ranges::any_of(stage_rows(), [&](const StageRow& row) {
    return row.is(OutputKind::Compiled) && !stages.word_for_row(row).empty();
  });
}

int run_dump(const DumpOptions& o) {
  const std::string format = o.json ? "json" : o.format;
  DumpPlan plan = require_value(make_dump_plan("", format));
  Session session = make_terminal_session(install_beam_opts(o.overrides), o.num_jobs);
  session.compile_options = o.compile;
  plan.num_threads = session.num_jobs, plan.compile_options = o.compile;
  plan.is_self_describing = !o.output.empty();
  plan.explains_fusion = o.why;
  plan.report_progress = [&](size_t done, size_t of) {
    session.report_progress("kernel " + std::to_string(done) + " of " + std::to_string(of));
  };
  DumpOutput out(o.output, plan.format == GraphFormat::Json);
  RuleStats stats;
  StatsObserver counter([](const StageRow& row) { return has_rewrites(row); }, stats);
  if (should_track_match_stats()) plan.stage_observer = &counter;
  StageSelection stages(o.stage);
  std::string_view begun_at;  // the stage that made the input graph (the last one that a stage made); empty: none
  bool is_printed = false;
  require_value(for_each_graph(session, o.input, o.kernel, [&](InputGraph graph) -> Status {
    is_printed = graph.is_tensor_graph && !graph.record && !session.tinygrad_pool;
    DebugPrints debug(session, graph.graph->settings());
    auto pipeline = session.pipeline(std::move(graph));
    if (!pipeline) return pipeline.diag();
    require_for_options(*o.app, **pipeline, Ability::Recording, {"--recorded"});
    require_for_options(*o.app, **pipeline, Ability::Reasons, {"--why"});
    if (!compiles_source(stages))
      require_for_options(*o.app, **pipeline, Ability::Compile, {"--optimized", "--lines", "--machine"});
    if (o.why && (plan.format == GraphFormat::Json || !explains_schedule(stages)))
      return Diag{.message = "--why explains the text of the schedule", .expected = "--stage=schedule besides"};
    DumpPlan own = plan;
    if (debug.observes_kernels()) own.on_compiled = [&](Compilation& c) { return debug.print_compilation(c); };
    if (const StageRow* at = (*pipeline)->input_stage()) begun_at = at->name;
    auto texts = (*pipeline)->texts(stages, own);
    return texts ? out.write(*texts) : Status(texts.diag());
  }));
  require_value(stages.check_words_matched());
  if (!out.num_written_texts() && o.stage != "changed")
    return report_error({.message = "no graph of the input has '" + o.stage + "'",
                         .file = o.input == "-" ? "" : o.input,
                         .expected = !begun_at.empty()
                                         ? "stages after '" + std::string(begun_at) + "', where the input begins"
                                     : is_printed ? "--live=PYTHON, whose tinygrad makes the stages of a printed graph"
                                                  : "a stage that applies to the input; `tgc dump --stage=changed` "
                                                    "shows them"});
  require_value(out.release());
  if (stages.is_empty()) (void)fault_warnings();  // no stage ran, so drop warnings that TGC_FAULT changed nothing
  if (plan.stage_observer) session.events->on_debug(stats_text(stats.counters_by_rule()));
  return 0;
}

}  // namespace

void add_dump(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<DumpOptions>();
  o.app = cmd.operator->();
  cmd.set_description("Run the compiler on a graph or model and print it after the chosen stages.",
                      "tgc dump model.onnx --stage=source");
  add_input_options(cmd, o.input, o.kernel);
  add_size_option(cmd, o.overrides);
  add_weights_option(cmd, o.overrides);
  cmd.add_option("--from", o.overrides.start_stage, "STAGE",
                 "start from the graph after this stage: the input, or a record's");
  cmd.add_cli_flag("--recorded", o.overrides.uses_recorded_pipeline,
                   "print the stages that a record holds; without it, tgc\n"
                   "compiles a record of tinygrad 0.12.0 again, and prints its own stages");
  cmd.set_group(OptionGroup::Output);
  cmd.add_option("--stage", o.stage, "LIST",
                 "print these stages: names, aliases, spans a..b, 'all', 'changed'; default: the input's text");
  cmd.add_option("--format", o.format, "F", "pyrender (default), uops, nodes, repr, json or dot");
  cmd.add_json_flag(o.json, "the same as --format=json");
  cmd.add_option("-o,--output", o.output, "DIR|FILE", "write a file, or a folder of files KERNEL.NN.STAGE.EXT");
  cmd.add_cli_flag("--why", o.why, "with schedule: say why each kernel is one of its own, and what would fuse it;\n"
                   "a recording has the reasons if tinygrad 0.13 or later was recorded with this version");
  cmd.add_cli_flag("--optimized", o.compile.shows_optimized_ir, "with llvm-ir: print the module after LLVM's O2");
  cmd.add_cli_flag("--lines", o.compile.has_source_lines,
                   "with asm and sass: print the source line of each instruction");
  cmd.set_group(OptionGroup::Pipeline);
  cmd.add_option("--machine", o.compile.cpu_machine, "M", "compile CPU code for x86_64[:CPU] or aarch64[:CPU]");
  cmd.add_jobs_option(o.num_jobs, "one per processor");
  add_pipeline_options(cmd, o.overrides);
  cmd.set_action([&o] { return run_dump(o); });
}

}  // namespace tgc
