#include "apps/tgc/timing.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>

#include "lib/inspect/match_stats.h"
#include "lib/text/pyrender.h"
#include "lib/uop/copy.h"
#include "passes/pipeline.h"
#include "passes/program.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_ms() { return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count(); }

// The processor's time of this thread: what else the machine does is not in it. Reading it costs as much as a stage of a small kernel.
double thread_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

size_t nodes_of(UOp root) { return toposort(root).size(); }

// What a run is for. Walking a graph to count its nodes warms the caches for the next stage, so runs that are timed do not count; and to look
// at the clock after each stage takes a tenth of the time of a small kernel, so the total is timed by itself.
enum class RunFor { Nodes, Total, Stages };

class Run {
 public:
  enum class StagesIn { Elapsed, ProcessorTime };
  explicit Run(RunFor what, StagesIn in = StagesIn::Elapsed) : what_(what), in_(in), start_(thread_ms()), last_(now()) {}
  GraphTime time;

  // What `work` makes, its time noted under the stage's name; `count` gives the nodes of the result.
  template <class Work, class Count>
  auto timed(std::string_view name, Work work, Count count) {
    auto result = work();
    if (!result || what_ == RunFor::Total) return result;
    double end = now();  // where the next one begins
    time.stages.push_back({name, what_ == RunFor::Nodes ? count(*result) : 0, end - last_});
    last_ = what_ == RunFor::Nodes ? now() : end;
    return result;
  }
  // The stages so far are the total.
  void end_of_total() {
    time.ms = thread_ms() - start_;
    last_ = now();
  }

 private:
  double now() const { return in_ == StagesIn::Elapsed ? elapsed_ms() : thread_ms(); }

  RunFor what_;
  StagesIn in_;
  double start_, last_;
};

Result<GraphTime> run_tensor_graph(UOp sink, RunFor what) {
  Run run(what);
  TensorJob job(sink.graph());
  for (const TensorStage& stage : tensor_stages()) {
    auto result = run.timed(stage.name, [&] { return run_stage(stage, job, sink); }, nodes_of);
    if (!result) return result.diag();
    sink = *result;
  }
  auto count = [&](const Schedule&) { return nodes_of(sink); };
  auto schedule = run.timed("kernels", [&] { return catch_failures([&] { return create_schedule(job, sink); }); }, count);
  if (!schedule) return schedule.diag();
  run.end_of_total();
  return std::move(run.time);
}

Result<GraphTime> run_kernel(UOp ast, const Target& target, const std::optional<std::vector<Arg>>& opts, RunFor what) {
  Run run(what);
  KernelJob job{.graph = ast.graph(), .target = target, .opts = opts};
  UOp sink = begin_kernel(job, ast);
  for (const Stage& stage : kernel_stages()) {
    if (stage.applies && !stage.applies(job)) continue;
    auto result = run.timed(stage.name, [&] { return run_stage(stage, job, sink); }, nodes_of);
    if (!result) return result.diag();
    sink = *result;
  }
  auto list = run.timed("linear", [&] { return linear_list(job, sink); }, [](const std::vector<UOp>& list) { return list.size(); });
  if (!list) return list.diag();
  run.end_of_total();
  if (what == RunFor::Total) return std::move(run.time);
  auto count = [&](const auto&) { return list->size(); };
  (void)run.timed("source", [&] { return render_source(target, *list); }, count);  // tinygrad has kernels that it compiles and cannot render
  auto program = run.timed("program", [&] { return program_info(*list); }, count);
  if (!program) return program.diag();
  return std::move(run.time);
}

Result<GraphTime> run_once(const TimedInput& in, const PipelineOptions& options, RunFor what, RuleStats* stats = nullptr) {
  Graph graph(in.settings);
  auto root = read_pyrender(graph, in.text, in.file);
  if (!root) return root.diag();
  auto opts = options.forced_opts(graph);
  if (!opts) return opts.diag();
  std::optional<StatsWatch> watch;
  if (stats) watch.emplace(graph, *stats);
  size_t nodes = what == RunFor::Nodes ? nodes_of(*root) : 0;
  auto time = in.is_tensor_graph ? run_tensor_graph(*root, what) : run_kernel(*root, in.target, *opts, what);
  if (time) time->nodes = nodes;
  return time;
}

// ---- from the file to the sources

Result<size_t> render_kernels(const Schedule& schedule, const InputGraph& in, const PipelineOptions& options) {
  UOpSet rendered(*in.graph);
  size_t count = 0;
  for (const ScheduleItem& item : schedule.items) {
    if (!item.ast.is(Op::SINK) || !rendered.insert(item.ast)) continue;
    std::string device = target_of_device(schedule.buffers[item.buffers[0]].device, in.graph->settings());
    auto target = options.resolve_target(in.info.target.empty() ? device : in.info.target, in.graph->settings());
    if (!target) return target.diag();
    Graph graph(in.graph->settings());
    KernelJob job{.graph = graph, .target = *target};
    UOp sink = begin_kernel(job, copy_into(graph, item.ast));
    for (const Stage& stage : kernel_stages()) {
      if (stage.applies && !stage.applies(job)) continue;
      auto result = run_stage(stage, job, sink);
      if (!result) return result.diag();
      sink = *result;
    }
    auto list = linear_list(job, sink);
    if (!list) return list.diag();
    auto source = render_source(*target, *list);
    if (!source) return source.diag();
    count++;
  }
  return count;
}

Result<GraphTime> run_whole(const std::string& spec, const PipelineOptions& options, RunFor what) {
  Run run(what, Run::StagesIn::ProcessorTime);
  auto read = [&]() -> Result<InputGraph> {
    auto input = Input::open(spec, "", options);
    if (!input) return input.diag();
    auto graph = input->next();
    if (!graph) return graph.diag();
    if (!*graph || !(*graph)->is_tensor_graph) return Diag{.message = "no tensor graph", .file = spec, .expected = "a model, or a tensor graph"};
    return std::move(**graph);
  };
  auto in = run.timed("read", read, [](const InputGraph& g) { return nodes_of(g.root); });
  if (!in) return in.diag();
  TensorJob job(*in->graph);
  auto schedule_it = [&]() -> Result<Schedule> {
    UOp sink = in->root;
    for (const TensorStage& stage : tensor_stages()) {
      auto result = run_stage(stage, job, sink);
      if (!result) return result.diag();
      sink = *result;
    }
    return catch_failures([&] { return create_schedule(job, sink); });
  };
  auto schedule = run.timed("schedule", schedule_it, [](const Schedule& s) { return s.items.size(); });
  if (!schedule) return schedule.diag();
  auto rendered = run.timed("render", [&] { return render_kernels(*schedule, *in, options); }, [](size_t kernels) { return kernels; });
  if (!rendered) return rendered.diag();
  run.end_of_total();
  run.time.nodes = what == RunFor::Nodes ? run.time.stages[0].nodes : 0;
  return std::move(run.time);
}

// The least times of `repeats` runs of `once` for the total and as many for the stages, after one that counts the nodes and warms up.
template <class Once>
Result<GraphTime> fastest(int repeats, Once once) {
  Result<GraphTime> counted = once(RunFor::Nodes);
  if (!counted) return counted;
  GraphTime best = std::move(*counted);
  for (int i = 0; i < repeats; i++) {
    Result<GraphTime> total = once(RunFor::Total);
    if (!total) return total;
    Result<GraphTime> time = once(RunFor::Stages);
    if (!time) return time;
    best.ms = i == 0 ? total->ms : std::min(best.ms, total->ms);
    for (size_t s = 0; s < best.stages.size(); s++) best.stages[s].ms = i == 0 ? time->stages[s].ms : std::min(best.stages[s].ms, time->stages[s].ms);
  }
  return best;
}

}  // namespace

Result<GraphTime> time_whole(const std::string& spec, const PipelineOptions& options, int repeats) {
  return fastest(repeats, [&](RunFor what) { return run_whole(spec, options, what); });
}

Result<TimedInput> timed_input(const InputGraph& in, const PipelineOptions& options) {
  const Settings& settings = in.graph->settings();
  auto target = options.resolve_target(in.info.target, settings);
  if (!target) return target.diag();
  auto text = pyrender(in.root);
  if (!text) return text.diag();
  return TimedInput{in.info.name, in.file, std::move(*text), settings, std::move(*target), in.is_tensor_graph};
}

Result<GraphTime> time_graph(const TimedInput& in, const PipelineOptions& options, int repeats, bool count_rules) {
  RuleStats stats;
  double counted_ms = 0;
  auto best = fastest(repeats, [&](RunFor what) {
    auto plain = run_once(in, options, what);
    if (!plain || what != RunFor::Total || !count_rules) return plain;
    if (auto counted = run_once(in, options, what, &stats)) counted_ms = counted_ms ? std::min(counted_ms, counted->ms) : counted->ms;
    return plain;
  });
  if (best) best->counted_ms = counted_ms;
  return best;
}

}  // namespace tgc
