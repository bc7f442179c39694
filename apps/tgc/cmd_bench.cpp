// tgc bench: times the pipeline, stage by stage.
#include <algorithm>

#include "apps/tgc/options.h"
#include "lib/bench/bench.h"

namespace tgc {
namespace {

struct BenchOptions {
  BenchPlan plan;
  bool json = false, list = false;
  unsigned jobs = 1;
  Overrides over;
};

int bench(BenchOptions& o) {
  if (o.plan.inputs.empty()) o.plan.inputs = {"-"};
  auto result = require(run_bench(terminal_session(with_found_opts(o.over), o.jobs), o.plan));
  const bool is_any_timed = std::ranges::any_of(result.graphs, [](const TimedGraph& g) { return g.time.ok(); });
  if (!is_any_timed && !result.graphs.empty()) require(result.graphs[0].time);
  BenchReport report(o.plan, o.jobs, result);
  print_report(o.json ? report.json(o.list) : report.text(o.list));
  return 0;
}

}  // namespace

void add_bench(Command& cmd) {
  auto& o = cmd.make<BenchOptions>();
  cmd.describe("Time the pipeline, stage by stage.", "tgc bench golden.jsonl.gz --repeat=5",
               "Times are in milliseconds: processor time for the total, elapsed time for a stage.\n"
               "The total goes from the AST to the linear list (of a tensor graph, to its kernels), without parsing,\n"
               "`source` and `program`; with --whole, from the file to the sources.\n"
               "Nodes: of the total, those of the ASTs; of a stage, those of its result.\n"
               "Of a recording of another release, and with --live, the processor time that tinygrad itself took.");
  add_input_options(cmd, o.plan.inputs, o.plan.kernel, "; several are timed together");
  add_size_option(cmd, o.over);
  cmd.flag("--whole", o.plan.whole, "of models and tensor graphs: time parsing, scheduling and rendering every kernel");
  cmd.number("--repeat", o.plan.repeats, "N", 1, kMostRuns, "time N runs after a warm-up, take the fastest (3)");
  cmd.flag("--stats", o.plan.count_rules, "time N more runs that count rules as `tgc stats` does");
  cmd.jobs(o.jobs, "1");
  cmd.group(Group::Output);
  cmd.json(o.json);
  cmd.flag("--list", o.list, "print the time of each kernel, too");
  add_pipeline_options(cmd, o.over);
  cmd.runs([&o] { return bench(o); });
}

}  // namespace tgc
