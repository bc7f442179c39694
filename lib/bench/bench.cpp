#include "lib/bench/bench.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "lib/compilation/pipeline.h"
#include "lib/driver/source.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"
#include "lib/support/ordered_pool.h"
#include "lib/target/target.h"

namespace tgc {
namespace {

Result<size_t> render_kernels(Compilation& graph) {
  UOpSet rendered(graph.graph());
  size_t count = 0;
  for (size_t number : graph.kernel_numbers()) {
    if (!rendered.insert(graph.schedule()->items[number].ast)) continue;
    auto kernel = graph.kernel(number);
    if (!kernel) return kernel.diag();
    if (auto& source = kernel->source(); !source) return source.diag();
    count++;
  }
  return count;
}

Result<GraphTime> time_whole_run(const Session& session, const std::string& spec, RunPurpose what) {
  StageTimer run(what, StageTimer::ClockKind::ProcessorTime);
  auto source = GraphSource::open(session, spec);
  if (!source) return source.diag();
  auto in = source->next_graph();
  if (!in) return in.diag();
  if (!*in || !(*in)->is_tensor_graph)
    return Diag{.message = "no tensor graph", .file = spec, .expected = "a model, or a tensor graph"};
  size_t nodes = 0;
  run.end_stage("read", [&] { return nodes = toposort((*in)->root).size(); });
  auto graph = session.begin(std::move(**in));
  if (!graph) return graph.diag();
  auto& schedule = graph->schedule();
  if (!schedule) return schedule.diag();
  run.end_stage("schedule", [&] { return schedule->items.size(); });
  auto rendered = render_kernels(*graph);
  if (!rendered) return rendered.diag();
  run.end_stage("render", [&] { return *rendered; });
  run.end_total_time();
  run.graph_time.num_nodes = nodes;
  return std::move(run.graph_time);
}

Result<TimedGraph> recorded_time(Pipeline& pipeline) {
  auto rows = pipeline.rows();
  if (!rows) return rows.diag();
  TimedGraph out{pipeline.name(), pipeline.target()};
  GraphTime time{.num_nodes = toposort(pipeline.ast()).size()};
  double whole = 0;
  for (const Pipeline::StageData& row : *rows) {
    if (!row.recorded_stage || row.recorded_stage->stage_seconds < 0) continue;
    const double ms = row.recorded_stage->stage_seconds * 1000;
    time.stages.push_back({row.stage->name, row.result ? toposort(row.result).size() : 0, ms});
    whole += ms;
  }
  const GoldenRecord* record = pipeline.input().record.get();
  time.stages_ms = record && record->record_seconds >= 0 ? record->record_seconds * 1000 : whole;
  if (!time.stages.empty()) return out.graph_time = std::move(time), out;
  out.graph_time = Diag{.message = "the recording has no times of stages",
                        .file = pipeline.input().file,
                        .expected = "a recording of a newer exporter, or --live=PYTHON"};
  return out;
}

// Graphs that tgc compiles and times, and the recorded times of other graphs.
struct BenchInputs {
  std::vector<TimedInput> timed_inputs;
  std::vector<TimedGraph> recorded_graphs;
  std::string producer;  // the tinygrad release that recorded the times
};

Result<BenchInputs> read_inputs(const Session& session, const BenchPlan& plan) {
  BenchInputs out;
  for (const std::string& spec : plan.inputs) {
    auto status = for_each_graph(session, spec, plan.kernel, [&](InputGraph graph) -> Status {
      if (!graph.list.empty())
        return Diag{.message = "a linear list has no stages to time", .file = spec, .expected = "a graph"};
      if (!session.compiler()->can_compile(graph)) {
        auto pipeline = session.pipeline(std::move(graph));
        if (!pipeline) return pipeline.diag();
        if (!(*pipeline)->has_ability(Ability::Recording)) return (*pipeline)->missing_ability_error(Ability::Compile);
        auto timed = recorded_time(**pipeline);
        if (!timed) return timed.diag();
        out.recorded_graphs.push_back(std::move(*timed));
        out.producer = (*pipeline)->producer();
        return Unit{};
      }
      auto job = session.spec_for_input(graph);
      if (!job) return job.diag();
      auto timed = make_timed_input(graph, *job);
      if (!timed) return timed.diag();
      out.timed_inputs.push_back(std::move(*timed));
      return Unit{};
    });
    if (!status) return status.diag();
  }
  return out;
}

// Returns the peak memory in MiB, or 0 without /proc. The peak of getrusage() would include memory from before exec().
double peak_memory_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  return 0;
}

}  // namespace

Result<GraphTime> time_tensor_graph(const Session& session, const std::string& spec, int repeats) {
  return fastest_time(repeats, [&](RunPurpose what) { return time_whole_run(session, spec, what); });
}

Result<BenchResult> run_bench(const Session& session, const BenchPlan& plan) {
  auto inputs = plan.should_include_reading ? Result(BenchInputs()) : read_inputs(session, plan);
  if (!inputs) return inputs.diag();
  BenchResult out;
  const size_t count = plan.should_include_reading ? plan.inputs.size() : inputs->timed_inputs.size();
  out.graphs.resize(count);
  auto time = [&](size_t i) -> Status {
    if (session.is_cancelled()) return Diag{"cancelled"};
    if (plan.should_include_reading) {
      out.graphs[i] = {plan.inputs[i], "", time_tensor_graph(session, plan.inputs[i], plan.repeats)};
      return Unit{};
    }
    const TimedInput& in = inputs->timed_inputs[i];
    auto target = parse_recorded_target(in.job_spec.target.empty() ? "CPU" : in.job_spec.target, in.settings);
    out.graphs[i] = {in.name, in.is_tensor_graph || !target ? "" : target->name(),
                     time_graph(in, plan.repeats, plan.should_count_rules)};
    return Unit{};
  };
  auto start = Clock::now();
  auto tell = [&](size_t i) {
    session.report_progress(std::to_string(i + 1) + " of " + std::to_string(out.graphs.size()) + " graphs timed");
  };
  if (auto status = parallel_for(count, session.num_jobs, time, tell); !status) return status.diag();
  out.wall_seconds = seconds_since(start);
  out.graphs.insert(out.graphs.end(), inputs->recorded_graphs.begin(), inputs->recorded_graphs.end());
  out.num_recorded_graphs = inputs->recorded_graphs.size(), out.recording_release = inputs->producer;
  return out;
}

void StageTimes::add_time(size_t nodes, double ms) {
  num_nodes_ += nodes;
  sum_ms_ += ms;
  times_ms_.push_back(ms);
}

BenchReport::BenchReport(const BenchPlan& plan, unsigned threads, const BenchResult& result)
    : bench_plan_(plan), num_threads_(threads), bench_result_(result) {
  for (const TimedGraph& graph : result.graphs) {
    if (!graph.graph_time) {
      num_refused_graphs_++;
      continue;
    }
    total_times_.add_time(graph.graph_time->num_nodes, graph.graph_time->stages_ms);
    counting_runs_ms_ += graph.graph_time->counting_run_ms;
    for (const StageTime& s : graph.graph_time->stages) times_of_stage(s.name).add_time(s.num_nodes, s.stage_ms);
  }
}

StageTimes& BenchReport::times_of_stage(std::string_view name) {
  for (auto& [n, times] : stage_times_)
    if (n == name) return times;
  return stage_times_.emplace_back(name, StageTimes()).second;
}

// A graph that tgc compiles runs once to count its nodes, and per repeat once for the total, once for the stages and,
// with should_count_rules, once to count rules.
double BenchReport::runs_per_second() const {
  const size_t runs = (bench_plan_.should_count_rules ? 3 : 2) * bench_plan_.repeats + 1;
  const auto recorded_graphs = bench_result_.graphs.end() - ptrdiff_t(bench_result_.num_recorded_graphs);
  const auto num_timed = std::count_if(bench_result_.graphs.begin(), recorded_graphs,
                                       [](const TimedGraph& g) { return g.graph_time.ok(); });
  return bench_result_.wall_seconds > 0 ? double(size_t(num_timed) * runs) / bench_result_.wall_seconds : 0;
}

std::string BenchReport::text(bool list) const {
  std::string out;
  auto row = [&](std::string_view name, const StageTimes& t) {
    out += formatted("  %-30.*s %8zu %10zu %9.3f %9.3f %9.3f %9.3f %6.1f%%\n", int(name.size()), name.data(), t.count(),
                     t.num_nodes(), t.mean_ms(), t.median_ms(), t.p95_ms(), t.max_ms(),
                     total_times_.sum_ms() > 0 ? 100 * t.sum_ms() / total_times_.sum_ms() : 0.0);
  };
  for (const TimedGraph& g : bench_result_.graphs)
    if (list && g.graph_time)
      out += formatted("%-40s %-20s %7zu nodes %10.3f ms\n", g.name.c_str(), g.target.c_str(), g.graph_time->num_nodes,
                       g.graph_time->stages_ms);
  out += formatted("  %-30s %8s %10s %9s %9s %9s %9s %7s\n", "", "kernels", "nodes", "mean ms", "median", "p95", "max",
                   "share");
  row("total", total_times_);
  for (auto& [name, times] : stage_times_) row(name, times);
  if (bench_result_.num_recorded_graphs < bench_result_.graphs.size())
    out += formatted("the fastest of %d runs each, %s: %.0f runs a second; peak memory of the process %.1f MB\n",
                     bench_plan_.repeats, count_text(num_threads_, "thread").c_str(), runs_per_second(),
                     peak_memory_mib());
  if (bench_result_.num_recorded_graphs)
    out += "processor time of " + bench_result_.recording_release + " for " +
           count_text(bench_result_.num_recorded_graphs, "graph") + ", in one run each, without the exporter's own\n";
  if (bench_plan_.should_count_rules)
    out += formatted("counting rules makes it %.1f %% slower: mean %.3f ms\n", 100 * counting_slowdown(),
                     counting_runs_ms_ / double(std::max<size_t>(1, total_times_.count())));
  if (num_refused_graphs_) out += std::to_string(num_refused_graphs_) + " refused, and not counted\n";
  return out;
}

std::string BenchReport::json(bool list) const {
  return json_object([&](JsonWriter& json) {
    auto ms = [&](std::string_view name, double value) { json.key(name).number(value, "%.6f"); };
    auto object = [&](const StageTimes& t) {
      json.object([&] {
        json.member("kernels", t.count()).member("nodes", t.num_nodes());
        ms("mean_ms", t.mean_ms()), ms("median_ms", t.median_ms()), ms("p95_ms", t.p95_ms()), ms("max_ms", t.max_ms());
      });
    };
    json.key("total"), object(total_times_);
    json.key("stages").object([&] {
      for (auto& [name, times] : stage_times_) json.key(name), object(times);
    });
    json.member("threads", num_threads_).member("repeats", bench_plan_.repeats);
    json.key("runs_per_s").number(runs_per_second(), "%.1f").key("peak_mb").number(peak_memory_mib(), "%.1f");
    json.member("refused", num_refused_graphs_);
    if (bench_result_.num_recorded_graphs)
      json.member("recorded", bench_result_.num_recorded_graphs).member("recorded_by", bench_result_.recording_release);
    if (bench_plan_.should_count_rules) json.key("counting_slower").number(counting_slowdown(), "%.4f");
    if (!list) return;
    json.key("kernels").array([&] {
      for (const TimedGraph& g : bench_result_.graphs)
        if (g.graph_time)
          json.start_line().object([&] {
            json.member("name", g.name).member("target", g.target).member("nodes", g.graph_time->num_nodes);
            ms("ms", g.graph_time->stages_ms);
          });
    });
  }) + "\n";
}

}  // namespace tgc
