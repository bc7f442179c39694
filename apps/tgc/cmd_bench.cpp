// tgc bench GOLDENS|INPUT: time the pipeline, stage by stage.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "apps/tgc/commands.h"
#include "apps/tgc/terminal.h"
#include "apps/tgc/timing.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

struct BenchOptions {
  std::vector<std::string> inputs;
  std::string kernel;
  bool json = false, list = false, whole = false, stats = false;
  int repeats = 3;
  unsigned jobs = 1;
  PipelineOptions pipeline;
};

// The times of one stage, or of the whole, over all graphs.
class Times {
 public:
  void add(size_t nodes, double ms) {
    nodes_ += nodes;
    sum_ += ms;
    ms_.push_back(ms);
  }
  void sort() { std::sort(ms_.begin(), ms_.end()); }  // before any of the following
  size_t count() const { return ms_.size(); }
  size_t nodes() const { return nodes_; }
  double sum() const { return sum_; }
  double mean() const { return ms_.empty() ? 0 : sum_ / double(ms_.size()); }
  double median() const { return quantile(0.5); }
  double p95() const { return quantile(0.95); }
  double max() const { return ms_.empty() ? 0 : ms_.back(); }

 private:
  // The least time that this part of all does not exceed.
  double quantile(double part) const { return ms_.empty() ? 0 : ms_[size_t(std::ceil(part * double(ms_.size()))) - 1]; }

  std::vector<double> ms_;
  double sum_ = 0;
  size_t nodes_ = 0;
};

struct Outcome {
  std::string name, target;
  Result<GraphTime> time = GraphTime{};
};

class Report {
 public:
  Report(const BenchOptions& options, std::vector<Outcome> outcomes, double seconds) : o_(options), outcomes_(std::move(outcomes)), seconds_(seconds) {
    for (const Outcome& outcome : outcomes_) {
      if (!outcome.time) {
        refused_++;
        continue;
      }
      total_.add(outcome.time->nodes, outcome.time->ms);
      counted_ms_ += outcome.time->counted_ms;
      for (const StageTime& s : outcome.time->stages) times_of(s.name).add(s.nodes, s.ms);
    }
    total_.sort();
    for (auto& [name, times] : stages_) times.sort();
  }

  std::string text() const {
    char line[256];
    std::string out;
    auto row = [&](std::string_view name, const Times& t) {
      std::snprintf(line, sizeof line, "  %-30.*s %8zu %10zu %9.3f %9.3f %9.3f %9.3f %6.1f%%\n", int(name.size()), name.data(), t.count(), t.nodes(), t.mean(),
                    t.median(), t.p95(), t.max(), total_.sum() > 0 ? 100 * t.sum() / total_.sum() : 0.0);
      out += line;
    };
    if (o_.list)
      for (const Outcome& k : outcomes_)
        if (k.time) {
          std::snprintf(line, sizeof line, "%-40s %-20s %7zu nodes %10.3f ms\n", k.name.c_str(), k.target.c_str(), k.time->nodes, k.time->ms);
          out += line;
        }
    std::snprintf(line, sizeof line, "  %-30s %8s %10s %9s %9s %9s %9s %7s\n", "", "kernels", "nodes", "mean ms", "median", "p95", "max", "share");
    out += line;
    row("total", total_);
    for (auto& [name, times] : stages_) row(name, times);
    std::snprintf(line, sizeof line, "the fastest of %d runs each, %u thread%s: %.0f runs a second; peak memory of the process %.1f MB\n", o_.repeats, o_.jobs,
                  o_.jobs == 1 ? "" : "s", runs_per_second(), peak_mb());
    out += line;
    if (o_.stats) {
      std::snprintf(line, sizeof line, "counting rules makes it %.1f %% slower: mean %.3f ms\n", 100 * slower(), counted_ms_ / double(std::max<size_t>(1, total_.count())));
      out += line;
    }
    if (refused_) out += std::to_string(refused_) + " refused, and not counted\n";
    return out;
  }

  std::string json() const {
    char tail[160];
    std::string out = "{\"total\":" + object(total_) + ",\"stages\":{";
    for (auto& [name, times] : stages_) {
      if (&times != &stages_[0].second) out += ',';
      append_json_string(out, name);
      out += ":" + object(times);
    }
    std::snprintf(tail, sizeof tail, "},\"threads\":%u,\"repeats\":%d,\"runs_per_s\":%.1f,\"peak_mb\":%.1f,\"refused\":%zu", o_.jobs, o_.repeats, runs_per_second(),
                  peak_mb(), refused_);
    out += tail;
    if (o_.stats) {
      std::snprintf(tail, sizeof tail, ",\"counting_slower\":%.4f", slower());
      out += tail;
    }
    if (o_.list) out += ",\"kernels\":[" + kernels() + "]";
    return out + "}\n";
  }

 private:
  Times& times_of(std::string_view name) {
    for (auto& [n, times] : stages_)
      if (n == name) return times;
    return stages_.emplace_back(name, Times()).second;
  }

  static std::string object(const Times& t) {
    char buffer[200];
    std::snprintf(buffer, sizeof buffer, "{\"kernels\":%zu,\"nodes\":%zu,\"mean_ms\":%.6f,\"median_ms\":%.6f,\"p95_ms\":%.6f,\"max_ms\":%.6f}", t.count(), t.nodes(),
                  t.mean(), t.median(), t.p95(), t.max());
    return buffer;
  }
  std::string kernels() const {
    std::string out;
    char buffer[80];
    for (const Outcome& k : outcomes_) {
      if (!k.time) continue;
      out += out.empty() ? "\n{\"name\":" : ",\n{\"name\":";
      append_json_string(out, k.name);
      out += ",\"target\":";
      append_json_string(out, k.target);
      std::snprintf(buffer, sizeof buffer, ",\"nodes\":%zu,\"ms\":%.6f}", k.time->nodes, k.time->ms);
      out += buffer;
    }
    return out;
  }

  // By which part of its time.
  double slower() const { return total_.sum() > 0 ? counted_ms_ / total_.sum() - 1 : 0; }
  double runs_per_second() const { return seconds_ > 0 ? double(total_.count()) * (2 * o_.repeats + 1) / seconds_ : 0; }  // see fastest() in timing.cpp
  // Of this program: getrusage tells also what the process held before it became this program.
  static double peak_mb() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
    return 0;
  }

  const BenchOptions& o_;
  std::vector<Outcome> outcomes_;
  double seconds_;
  Times total_;
  std::vector<std::pair<std::string_view, Times>> stages_;  // in the order they first came: that of the pipeline
  size_t refused_ = 0;
  double counted_ms_ = 0;
};

// All graphs of the inputs, read before any is timed.
Result<std::vector<TimedInput>> read_inputs(const BenchOptions& o) {
  std::vector<TimedInput> out;
  for (const std::string& spec : o.inputs) {
    auto input = Input::open(spec, o.kernel, o.pipeline);
    if (!input) return input.diag();
    for (;;) {
      auto graph = input->next();
      if (!graph) return graph.diag();
      if (!*graph) break;
      if (!(*graph)->list.empty()) return Diag{.message = "a linear list has no stages to time", .file = spec, .expected = "a graph"};
      auto timed = timed_input(**graph, o.pipeline);
      if (!timed) return timed.diag();
      out.push_back(std::move(*timed));
    }
  }
  return out;
}

int bench(const BenchOptions& o) {
  auto inputs = o.whole ? Result(std::vector<TimedInput>()) : read_inputs(o);
  if (!inputs) return trouble(inputs.diag());
  std::vector<Outcome> outcomes(o.whole ? o.inputs.size() : inputs->size());
  std::atomic<size_t> next = 0;
  auto time = [&](size_t i) -> Outcome {
    if (o.whole) return {o.inputs[i], "", time_whole(o.inputs[i], o.pipeline, o.repeats)};
    const TimedInput& in = (*inputs)[i];
    return {in.name, in.is_tensor_graph ? "" : in.target.name(), time_graph(in, o.pipeline, o.repeats, o.stats)};
  };
  auto work = [&] {
    for (size_t i = next++; i < outcomes.size(); i = next++) outcomes[i] = time(i);
  };
  auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (unsigned i = 1; i < o.jobs; i++) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (outcomes.size() == 1 && !outcomes[0].time) return trouble(outcomes[0].time.diag());
  Report report(o, std::move(outcomes), seconds);
  print(o.json ? report.json() : report.text());
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App* cmd = app.add_subcommand("bench", "time the pipeline, stage by stage");
  cmd->footer("Times are milliseconds: processor time in total, elapsed time of a stage. The total is that from the AST to the linear list,\n"
              "of a tensor graph to its kernels; it does not hold the reading of the text, `source` and `program`, but with --whole all from the file to the sources. The nodes of the total are those of the ASTs, of a stage those of what it left.");
  cmd->add_option("INPUT", o->inputs, "golden files, or a graph of any kind; FILE#ID: that record alone; default: standard input");
  cmd->add_flag("--json", o->json, "print the times as JSON");
  cmd->add_flag("--list", o->list, "the time of each kernel, too");
  cmd->add_flag("--whole", o->whole, "of each model or tensor graph, reading the file, scheduling it and rendering the sources of its kernels, equal ones once");
  cmd->add_option("--var", o->pipeline.sizes, "binds a symbolic size of a model")->type_name("NAME=N")->take_all();
  cmd->add_flag("--stats", o->stats, "as many runs more that count rules as `tgc stats` does: what counting costs");
  cmd->add_option("--repeat", o->repeats, "time each kernel N times, and its stages as often, after a first run that is not timed; the fastest counts; default 3")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  cmd->add_option("-j", o->jobs, "threads; default 1")->type_name("N")->check(CLI::Range(1, 1024));
  cmd->add_option("--kernel", o->kernel, "one of many: its number from 0, or its name")->type_name("N|NAME");
  o->pipeline.add_to(*cmd);
  cmd->callback([o, &exit_code] {
    if (o->inputs.empty()) o->inputs = {"-"};
    exit_code = bench(*o);
  });
}

}  // namespace tgc
