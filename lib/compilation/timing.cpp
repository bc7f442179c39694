#include "lib/compilation/timing.h"

#include <chrono>

#include "lib/records/read_graph.h"
#include "lib/rewrite/stats.h"
#include "lib/support/deadline.h"
#include "lib/text/formats.h"

namespace tgc {
namespace {

double wall_clock_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double thread_processor_ms() { return thread_seconds() * 1e3; }

size_t count_nodes(UOp root) { return toposort(root).size(); }

// `observer` may be null.
Result<GraphTime> time_one_run(const TimedInput& in, RunPurpose what, RewriteObserver* observer = nullptr) {
  auto loaded = load_graph_text(in.settings, InputKind::Pyrender, in.text, in.file);
  if (!loaded) return loaded.diag();
  loaded->is_tensor_graph = in.is_tensor_graph;
  auto begun = Compilation::begin(std::move(*loaded), in.job_spec);
  if (!begun) return begun.diag();
  Compilation& c = *begun;
  if (observer) set_observer(c.graph(), observer);
  size_t nodes = what == RunPurpose::Nodes ? count_nodes(c.ast()) : 0;
  StageTimer run(what);
  while (const StageRow* row = c.next_row()) {
    if (row->is(OutputKind::Compiled) || row->is(OutputKind::Source)) break;
    if (auto step = c.run_step(); !step) return step.diag();
    bool schedule = row->kind == StageRow::Kind::Schedule;
    run.end_stage(schedule ? "kernels" : row->name,
                  [&] { return row->output ? c.list()->size() : count_nodes(c.current_graph()); });
  }
  run.end_total_time();
  run.graph_time.num_nodes = nodes;
  if (what == RunPurpose::Total || c.is_tensor_graph()) return std::move(run.graph_time);
  auto count = [&] { return c.list()->size(); };
  (void)c.source();  // ignores the error, because some kernels cannot be rendered
  run.end_stage("source", count);
  if (auto program = c.row_output(get_stage_row(OutputKind::LaunchFacts)); !program) return program.diag();
  run.end_stage("program", count);
  return std::move(run.graph_time);
}

}  // namespace

StageTimer::StageTimer(RunPurpose what, ClockKind in)
    : run_purpose_(what), clock_kind_(in), start_time_ms_(thread_processor_ms()), last_time_ms_(now_ms()) {}

void StageTimer::end_total_time() {
  graph_time.stages_ms = thread_processor_ms() - start_time_ms_;
  last_time_ms_ = now_ms();
}

double StageTimer::now_ms() const {
  return clock_kind_ == ClockKind::Elapsed ? wall_clock_ms() : thread_processor_ms();
}

Result<TimedInput> make_timed_input(const InputGraph& in, const CompilationSpec& job) {
  auto text = write_graph(GraphFormat::Pyrender, in.root, {.name = in.info.name, .stage = in.info.stage});
  if (!text) return text.diag();
  return TimedInput{in.info.name, in.file, std::move(*text), in.graph->settings(), in.is_tensor_graph, job};
}

Result<GraphTime> time_graph(const TimedInput& in, int repeats, bool count_rules) {
  RuleStats stats;
  RewriteObserver counting;
  counting.rule_stats = &stats;
  counting.is_counting_only = true;
  double counting_run_ms = 0;
  auto best = fastest_time(repeats, [&](RunPurpose what) {
    auto plain = time_one_run(in, what);
    if (!plain || what != RunPurpose::Total || !count_rules) return plain;
    if (auto counted = time_one_run(in, what, &counting))
      counting_run_ms = counting_run_ms ? std::min(counting_run_ms, counted->stages_ms) : counted->stages_ms;
    return plain;
  });
  if (best) best->counting_run_ms = counting_run_ms;
  return best;
}

}  // namespace tgc
