// tgc compile INPUT...: every distinct source of many kernels through its target's compiler, and what came of it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "apps/tgc/commands.h"
#include "apps/tgc/input.h"
#include "lib/compilation/outputs.h"
#include "apps/tgc/terminal.h"
#include "lib/compile/load.h"
#include "lib/support/sha256.h"
#include "lib/text/json_scan.h"

namespace tgc {
namespace {

struct CompileCommand {
  std::vector<std::string> inputs;
  bool json = false, no_cache = false, times = false;
  unsigned jobs = 1, every = 1;
  PipelineOptions pipeline;
};

// One source and what came of it.
struct Case {
  std::string target, kernel;
  CompileJob job;
  std::string failure;  // empty: it compiled
  double milliseconds = 0, cpu_milliseconds = 0;  // the second is this thread's alone: what an idle machine would take
  size_t bytes = 0;
};

double cpu_milliseconds() {
  timespec now;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

bool works(std::string_view compiler) {
  static const std::set<std::string, std::less<>> all = [] {
    std::set<std::string, std::less<>> names;
    for (const CompilerInfo& c : compilers())
      if (c.works) names.insert(c.name);
    return names;
  }();
  return all.contains(compiler);
}

// The machine's own code where a compiler for it is at hand, else as far as the compilers here go.
Artifact artifact_of(const CompileJob& job) {
  bool nvidia = job.language == Language::Cuda || job.language == Language::Ptx;
  if (nvidia) return works("ptxas") ? Artifact::Cubin : Artifact::Binary;
  if (job.language == Language::OpenCl) return works("OpenCL") ? Artifact::Binary : Artifact::Assembly;
  return Artifact::Binary;
}

// Compiles, and loads what this computer can run.
void compile_case(Case& c, bool cache) {
  Artifact what = artifact_of(c.job);
  auto begin = std::chrono::steady_clock::now();
  double cpu = cpu_milliseconds();
  auto made = cache ? compile(c.job, what) : compile_uncached(c.job, what);
  if (!made) {
    c.failure = made.diag().text();
  } else {
    c.bytes = made->size();
    bool here = c.job.machine.empty() && (c.job.language == Language::C || c.job.language == Language::LlvmIr);
    if (here)
      if (auto code = load_object(*made); !code) c.failure = "cannot be loaded: " + code.diag().text();
  }
  c.cpu_milliseconds = cpu_milliseconds() - cpu;
  c.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + long(values.size() / 2), values.end());
  return values[values.size() / 2];
}

class Compiler {
 public:
  explicit Compiler(const CompileCommand& options) : o_(options) {}

  int run() {
    for (const std::string& input : o_.inputs)
      if (auto status = collect(input); !status) return trouble(status.diag());
    compile_all();
    print(o_.json ? json() : text());
    return std::any_of(cases_.begin(), cases_.end(), [](const Case& c) { return !c.failure.empty(); }) ? 1 : 0;
  }

 private:
  struct Group {
    size_t kernels = 0, sources = 0, compiled = 0;
    std::string why_none;
    std::vector<double> times;
  };

  Status collect(const std::string& spec) {
    auto input = Input::open(spec, "", o_.pipeline);
    if (!input) return input.diag();
    for (;;) {
      auto graph = input->next();
      if (!graph) return graph.diag();
      if (!*graph) return Unit{};
      if (!(*graph)->is_tensor_graph && number_++ % o_.every == 0)
        if (auto status = add(**graph); !status) return status;
    }
  }

  Status add(InputGraph& in) {
    auto target = o_.pipeline.resolve_target(in.info.target, in.graph->settings());
    if (!target) return target.diag();
    Group& group = groups_[target->name()];
    group.kernels++;
    KernelJob job{*in.graph, *target};
    auto sink = run_kernel_stages(job, begin_kernel(job, in.root));
    if (!sink) return refuse(in, *target, sink.diag());
    KernelOutputs outputs(job, *sink);
    if (!outputs.source()) return refuse(in, *target, outputs.source().diag());
    if (!seen_.insert({target->name(), sha256(*outputs.source())}).second) return Unit{};
    group.sources++;
    auto compile_job = compile_job_of(outputs);
    if (compile_job) cases_.push_back({target->name(), in.info.name, std::move(*compile_job)});
    else group.why_none = compile_job.diag().message;
    return Unit{};
  }
  // A kernel that has no source for that target (tinygrad refuses some, too) is no failure of a compiler.
  Status refuse(const InputGraph& in, const Target& target, const Diag& diag) {
    refused_.push_back(target.name() + " " + in.info.name + ": " + diag.message);
    return Unit{};
  }

  void compile_all() {
    Progress progress;
    std::mutex mutex;
    size_t next = 0;
    auto work = [&] {
      for (;;) {
        size_t i;
        {
          std::lock_guard lock(mutex);
          if (next == cases_.size()) return;
          i = next++;
          progress.show(std::to_string(i) + " of " + std::to_string(cases_.size()) + " sources compiled");
        }
        compile_case(cases_[i], !o_.no_cache);
      }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < o_.jobs; i++) threads.emplace_back(work);
    work();
    for (std::thread& t : threads) t.join();
    for (const Case& c : cases_) {
      Group& group = groups_[c.target];
      group.times.push_back(c.milliseconds);
      group.compiled += c.failure.empty();
    }
  }

  std::string text() const {
    char line[256];
    std::snprintf(line, sizeof line, "%-22s %8s %8s %9s %7s %11s\n", "target", "kernels", "sources", "compiled", "failed", "median ms");
    std::string out = line;
    for (const auto& [name, g] : groups_) {
      if (g.why_none.empty())
        std::snprintf(line, sizeof line, "%-22s %8zu %8zu %9zu %7zu %11.2f\n", name.c_str(), g.kernels, g.sources, g.compiled, g.sources - g.compiled, median(g.times));
      else
        std::snprintf(line, sizeof line, "%-22s %8zu %8zu %9s %7s %11s  %s\n", name.c_str(), g.kernels, g.sources, "-", "-", "-", g.why_none.c_str());
      out += line;
    }
    for (const Case& c : cases_)
      if (!c.failure.empty()) out += "\n" + c.target + " " + c.kernel + ": " + c.failure + "\n";
    for (const std::string& r : refused_) out += "\nno source: " + r + "\n";
    return out;
  }

  std::string json() const {
    std::string out = "{\"targets\":{";
    bool first = true;
    for (const auto& [name, g] : groups_) {
      out += first ? "" : ",";
      first = false;
      append_json_string(out, name);
      out += ":{\"kernels\":" + std::to_string(g.kernels) + ",\"sources\":" + std::to_string(g.sources) + ",\"compiled\":" + std::to_string(g.compiled) +
             ",\"compilable\":" + (g.why_none.empty() ? "true" : "false") + ",\"median_ms\":" + std::to_string(median(g.times)) + "}";
    }
    out += "},\"sources\":[";
    first = true;
    for (const Case& c : cases_) {
      if (c.failure.empty() && !o_.times) continue;
      out += first ? "\n{\"target\":" : ",\n{\"target\":";
      first = false;
      append_json_string(out, c.target);
      out += ",\"kernel\":";
      append_json_string(out, c.kernel);
      out += ",\"message\":";
      append_json_string(out, c.failure);
      out += ",\"ms\":" + std::to_string(c.milliseconds) + ",\"cpu_ms\":" + std::to_string(c.cpu_milliseconds) + ",\"bytes\":" + std::to_string(c.bytes) + "}";
    }
    return out + "]}\n";
  }

  const CompileCommand& o_;
  std::map<std::string, Group> groups_;
  std::set<std::pair<std::string, Sha256>> seen_;
  std::vector<Case> cases_;
  size_t number_ = 0;  // of kernels read
  std::vector<std::string> refused_;
};

}  // namespace

void add_compile(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<CompileCommand>();
  CLI::App* cmd = app.add_subcommand("compile", "compile every distinct source of the kernels given, for each its own target or --target; a table of what came of it");
  cmd->add_option("INPUT", o->inputs, "files of any kind that dump takes")->required();
  cmd->add_flag("--json", o->json, "as JSON: totals by target, and every failure");
  cmd->add_flag("--times", o->times, "with --json: list every source with its time, not only those that fail");
  cmd->add_flag("--no-cache", o->no_cache, "compile anew what the cache holds");
  cmd->add_option("-j,--jobs", o->jobs, "threads (1)")->check(CLI::Range(1, 1024));
  cmd->add_option("--every", o->every, "take every Nth kernel alone (1)")->type_name("N")->check(CLI::Range(1, 1000000));
  o->pipeline.add_to(*cmd);
  cmd->callback([o, &exit_code] { exit_code = Compiler(*o).run(); });
}

}  // namespace tgc
