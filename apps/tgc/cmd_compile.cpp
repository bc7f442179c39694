#include "apps/tgc/options.h"
#include "lib/compile_all/compile_all.h"
#include "lib/run/source_run.h"

namespace tgc {
namespace {

struct CompileCommandOptions {
  CompilePlan plan;
  bool json = false, no_cache = false, times = false, assembly = false;
  unsigned num_jobs = 1;
  CompileOverrides overrides;
};

// Prints the assembly of hand-written kernels; `tgc dump` prints that of others.
int print_assembly(const CompileCommandOptions& o) {
  const Session session = make_terminal_session(o.overrides, 1);
  for (const std::string& file : o.plan.inputs) {
    const SourceJob source = require_value(make_source_job(session, file, o.plan.language, o.overrides.target));
    auto made = compile(source.job, Artifact::Assembly);
    print_report(made ? *made : throw Failure(point_to_source_line(made.diag(), file)));
  }
  return 0;
}

int compile_inputs(CompileCommandOptions& o) {
  if (o.assembly) return print_assembly(o);
  o.plan.uses_cache = !o.no_cache;
  Session session = make_terminal_session(o.overrides, o.num_jobs);
  BatchCompiler all(session, o.plan);
  require_value(all.run());
  print_report(o.json ? all.json(o.times) : all.text());
  require_value(all.require_any_source());
  return all.has_failures() ? 1 : 0;
}

}  // namespace

void add_compile(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<CompileCommandOptions>();
  cmd.set_description("Compile the source of every kernel with its target's compiler, and count what fails.",
               "tgc compile golden.jsonl.gz --target=CUDA",
               "--resources reports what the compiler reports: LLVM for CPUs and AMD GPUs, ptxas for NVIDIA GPUs.\n"
               "Without ptxas, the registers are an estimate, which is marked with '~'. Few waves or warps at a time\n"
               "hide less of the time that loads take; the limiter says which resource would admit more.\n"
               "Spills are registers on AMD, bytes stored + loaded on NVIDIA, instructions on a CPU (stores + loads).");
  cmd.add_positional("INPUT", o.plan.inputs, "files of any kind (`tgc help inputs`)")->required();
  cmd.set_group(OptionGroup::Input);
  add_language_option(cmd, o.plan.language);
  cmd.add_number_option("--every", o.plan.sampling_interval, "N", 1, kMaxRuns, "compile only every Nth kernel");
  cmd.add_number_option("--threads", o.plan.num_group_threads, "N", 1, 1024,
                        "with --resources: threads of a work group, where the source does not state them");
  cmd.set_group(OptionGroup::Output);
  cmd.add_cli_flag("--resources", o.plan.should_report_resources,
                   "print what each kernel needs: registers, spills, memory, code size, occupancy and its limiter");
  auto* assembly = cmd.add_cli_flag("--asm", o.assembly,
                            "with --language: print the assembly; of other inputs, `tgc dump --stage=asm` does");
  assembly->needs(cmd->get_option("--language"))->excludes(cmd->get_option("--resources"));
  cmd.add_json_flag(o.json, "print totals by target, every failure and every kernel without a source as JSON");
  assembly->excludes(cmd->get_option("--json"));
  cmd.add_cli_flag("--times", o.times, "with --json: list every source with its time");
  cmd.set_group(OptionGroup::Pipeline);
  cmd.add_cli_flag("--no-cache", o.no_cache, "compile sources that the compile cache holds, too");
  cmd.add_number_option("--timeout", o.plan.timeout_seconds, "S", 0.01, kMaxTimeoutSeconds,
                        "seconds per source; default: 120");
  cmd.add_jobs_option(o.num_jobs, "1");
  add_pipeline_options(cmd, o.overrides);
  cmd.set_action([&o] { return compile_inputs(o); });
}

}  // namespace tgc
