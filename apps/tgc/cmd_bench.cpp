#include <algorithm>

#include "apps/tgc/options.h"
#include "lib/bench/bench.h"
#include "lib/bench/kernel_bench.h"

namespace tgc {
namespace {

struct BenchOptions {
  BenchPlan plan;
  KernelBenchPlan kernels;
  bool json = false, list = false, times_kernels = false;
  unsigned num_jobs = 1;
  CompileOverrides overrides;
};

int run_pipeline_bench(BenchOptions& o) {
  if (o.plan.inputs.empty()) o.plan.inputs = {"-"};
  auto result = require_value(run_bench(make_terminal_session(install_beam_opts(o.overrides), o.num_jobs), o.plan));
  const bool is_any_timed = std::ranges::any_of(result.graphs, [](const TimedGraph& g) { return g.graph_time.ok(); });
  if (!is_any_timed && !result.graphs.empty()) require_value(result.graphs[0].graph_time);
  BenchReport report(o.plan, o.num_jobs, result);
  print_report(o.json ? report.json(o.list) : report.text(o.list));
  return 0;
}

int run_kernel_bench(BenchOptions& o) {
  o.kernels.inputs = o.plan.inputs.empty() ? std::vector<std::string>{"-"} : o.plan.inputs;
  o.kernels.kernel = o.plan.kernel;
  CompileOverrides overrides = install_beam_opts(o.overrides);
  overrides.imports_kernels = true;
  o.kernels.device = overrides.target;
  auto result = require_value(bench_kernels(make_terminal_session(overrides, o.num_jobs), o.kernels));
  print_report(o.json ? kernels_json(result) : kernels_text(result));
  const bool is_any_timed = std::ranges::any_of(result.kernels, [](const BenchedKernel& k) { return k.error.empty(); });
  return is_any_timed ? 0 : 2;
}

}  // namespace

void add_bench(CliCommand& cmd) {
  auto& o = cmd.make_owned_value<BenchOptions>();
  cmd.set_description(
      "Time the pipeline stage by stage or, with --kernels, the kernels.",
      "tgc bench golden.jsonl.gz --repeat=5; tgc bench recording.jsonl.gz --kernels --try",
      "Times are in milliseconds: processor time for the total, elapsed time for a stage.\n"
      "The total goes from the AST to the linear list (of a tensor graph, to its kernels), without parsing,\n"
      "`source` and `program`; with --whole, from the file to the sources.\n"
      "Nodes: of the total, those of the ASTs; of a stage, those of its result.\n"
      "Of a recording of another release, and with --live, the processor time that tinygrad itself took.\n\n"
      "--kernels runs each kernel on its device: a recorded source as it is, else tgc's own compilation.\n"
      "GFLOPS and GB/s count what the AST asks for, each element read or written once. 'est.' is tinygrad's own\n"
      "estimate, which counts the optimized kernel, divided by this count: 1.00 if both are equal.\n"
      "'of peak' names what bounds the kernel: compute, memory, a cache, the launch, or latency (neither\n"
      "memory nor arithmetic is busy). Reasons follow for the slowest kernels, the heaviest first, each with\n"
      "opts that address it; --try measures them, and REF checks the result of the fastest.");
  add_input_options(cmd, o.plan.inputs, o.plan.kernel, "; several are timed together");
  add_size_option(cmd, o.overrides);
  cmd.add_cli_flag("--whole", o.plan.should_include_reading,
                   "of models and tensor graphs: time parsing, scheduling and rendering every kernel");
  auto* repeat = cmd.add_number_option("--repeat", o.plan.repeats, "N", 1, kMaxRuns,
                                       "time N runs after a warm-up, take the fastest (3; with --kernels: 20)");
  auto* whole = cmd->get_option("--whole");
  auto* kernels = cmd.add_cli_flag("--kernels", o.times_kernels, "time the kernels, and say why the slowest are slow");
  cmd.add_number_option("--explain", o.kernels.num_explained_kernels, "N", 0, kMaxRuns,
                        "with --kernels: say why for the N slowest kernels; default: 3")->needs(kernels);
  cmd.add_cli_flag("--try", o.kernels.should_measure_opts, "with --kernels: measure the opts that address the reasons")
      ->needs(kernels);
  cmd.add_number_option("--timeout", o.kernels.timeout_seconds, "S", 0.01, kMaxTimeoutSeconds,
                        "with --kernels: seconds for one kernel; default: 20")->needs(kernels);
  kernels->excludes(whole);
  cmd.add_cli_flag("--stats", o.plan.should_count_rules, "time N more runs that count rules as `tgc stats` does");
  cmd.add_jobs_option(o.num_jobs, "1");
  cmd.set_group(OptionGroup::Output);
  cmd.add_json_flag(o.json);
  cmd.add_cli_flag("--list", o.list, "print the time of each kernel, too");
  add_pipeline_options(cmd, o.overrides);
  cmd.set_action([&o, repeat] {
    if (*repeat) o.kernels.num_runs = o.plan.repeats;
    return o.times_kernels ? run_kernel_bench(o) : run_pipeline_bench(o);
  });
}

}  // namespace tgc
