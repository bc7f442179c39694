#include "lib/compile_all/compile_all.h"

#include <algorithm>

#include "lib/compile/contained_compiler.h"
#include "lib/compile/load.h"
#include "lib/driver/source.h"
#include "lib/run/source_run.h"
#include "lib/runtime/compile_source.h"
#include "lib/support/counted.h"
#include "lib/support/deadline.h"
#include "lib/support/json_writer.h"
#include "lib/support/ordered_pool.h"
#include "lib/support/quantile.h"
#include "passes/program.h"
#include "renderers/renderer.h"

namespace tgc {
namespace {

bool is_compiler_available(std::string_view compiler) {
  static const std::set<std::string, std::less<>> all = [] {
    std::set<std::string, std::less<>> names;
    for (const CompilerInfo& c : list_compilers())
      if (c.is_available) names.insert(c.name);
    return names;
  }();
  return all.contains(compiler);
}

// Returns machine code or, for a GPU's source without its compiler on this computer, an earlier form.
Artifact choose_artifact(const CompileJob& job) {
  bool nvidia = job.language == Language::Cuda || job.language == Language::Ptx;
  if (nvidia) return is_compiler_available("ptxas") ? Artifact::Cubin : Artifact::Binary;
  if (job.language == Language::OpenCl) return is_compiler_available("OpenCL") ? Artifact::Binary : Artifact::Assembly;
  return Artifact::Binary;
}

// Returns the threads of a work group; 0 if the sizes are symbolic, or if the runtime chooses them.
uint32_t num_group_threads_of(const std::optional<std::array<Sint, 3>>& local_size) {
  if (!local_size) return 0;
  int64_t out = 1;
  for (Sint size : *local_size) out *= size.is_int() ? size.as_int().to_int64().value_or(0) : 0;
  return uint32_t(out);
}
uint32_t num_group_threads_of(const GoldenRecord& record) {
  if (!record.program || !record.program->has_local_size) return 0;
  uint32_t out = 1;
  for (const std::string& size : record.program->local_size)
    out *= size.find_first_not_of("0123456789") == size.npos ? uint32_t(std::atoi(size.c_str())) : 0;
  return out;
}

std::string failure_text(const CompiledSource& c, const Diag& diag) {
  return c.file.empty() ? diag.text() : point_to_source_line(diag, c.file).text();
}

// If this computer can execute the compiled object, also loads it.
void compile_source(CompiledSource& c, bool cache) {
  Artifact what = choose_artifact(c.job);
  auto begin = Clock::now();
  double cpu = thread_seconds() + compiler_processor_seconds();
  auto made = cache ? compile(c.job, what) : compile_without_cache(c.job, what);
  if (!made) {
    c.failure = failure_text(c, made.diag());
  } else {
    c.output_bytes = made->size();
    bool here = c.job.machine.empty() && (c.job.language == Language::C || c.job.language == Language::LlvmIr);
    if (here)
      if (auto code = load_object(*made); !code) c.failure = "cannot be loaded: " + code.diag().text();
  }
  c.cpu_milliseconds = (thread_seconds() + compiler_processor_seconds() - cpu) * 1e3;
  c.milliseconds = seconds_since(begin) * 1e3;
}

// `threads`: threads of a work group, if the source does not state them.
void report_resources(CompiledSource& c, uint32_t threads, bool cache) {
  if (!c.num_group_threads) c.num_group_threads = threads;
  auto begin = Clock::now();
  if (auto found = resources_of_job(c.job, cache)) c.resources = std::move(*found);
  else c.failure = failure_text(c, found.diag());
  if (c.failure.empty() && c.resources.empty()) c.failure = "the compiled code has no kernel";
  c.milliseconds = seconds_since(begin) * 1e3;
}

}  // namespace

Status BatchCompiler::run() {
  for (const std::string& input : plan_.inputs) {
    if (!plan_.language.empty()) {
      if (auto added = add_hand_written_kernel(input); !added) return added;
      continue;
    }
    auto status = for_each_graph(session_, input, "", [&](InputGraph graph) -> Status {
      if (graph.is_tensor_graph || num_kernels_read_++ % plan_.sampling_interval) return Unit{};
      return add_graph(std::move(graph));
    });
    if (!status) return status;
  }
  if (target_counts_.empty()) return Diag{.message = "the inputs have no kernel", .expected = "kernels, or a model"};
  return compile_sources();
}

Status BatchCompiler::add_hand_written_kernel(const std::string& file) {
  auto source = make_source_job(session_, file, plan_.language, session_.overrides.target);
  if (!source) return source.diag();
  target_counts_[source->target].num_kernels++;
  const size_t before = sources_.size();
  add_source(source->target, source->job.name, source->job.source, 0,
             [&]() -> Result<CompileJob> { return source->job; });
  if (sources_.size() > before) sources_.back().file = file;
  return Unit{};
}

Status BatchCompiler::add_graph(InputGraph graph) {
  if (!session_.compiler()->can_compile(graph)) return add_recorded_kernel(graph);
  auto kernel = session_.begin(std::move(graph));
  if (!kernel) return kernel.diag();
  const std::string& target = kernel->target().name();
  target_counts_[target].num_kernels++;
  auto& source = kernel->source();
  if (!source) return add_refused_kernel(target, kernel->name(), source.diag()), Unit{};
  if (auto list = kernel->list(); list)
    if (auto allowed = check_custom_nodes(*list); !allowed)
      return add_refused_kernel(target, kernel->name(), allowed.diag()), Unit{};
  auto info = kernel->list().ok() ? make_program_info(*kernel->list()) : Result<ProgramInfo>(kernel->list().diag());
  add_source(target, kernel->name(), *source, info ? num_group_threads_of(info->local_size) : 0,
             [&] { return kernel->make_compile_job(); });
  return Unit{};
}

// Counts the kernel under the target that compiles its source; if there is none, under the recorded target.
Status BatchCompiler::add_recorded_kernel(const InputGraph& graph) {
  const GoldenRecord* record = graph.record.get();
  if (!record)
    return Diag{.message = "a graph of " + graph.info.producer + " has no source", .file = graph.file,
                .expected = "a recording, or --native"};
  const Settings& settings = graph.graph->settings();
  const auto target = target_of_source(*record, settings);
  const std::string name = target ? target->name() : record->target;
  target_counts_[name].num_kernels++;
  if (!record->source)
    return add_refused_kernel(name, record->id,
                              {record->source_error.value_or(record->error.value_or("no source was recorded"))}),
           Unit{};
  add_source(name, record->id, *record->source, num_group_threads_of(*record), [&]() -> Result<CompileJob> {
    auto outputs = KernelOutputs::make_recorded_outputs(*record, settings);
    return outputs ? compile_job_of_outputs(*outputs) : outputs.diag();
  });
  return Unit{};
}

void BatchCompiler::add_source(const std::string& target, const std::string& kernel, const std::string& source,
                               uint32_t threads, const std::function<Result<CompileJob>()>& make_job) {
  if (!added_source_hashes_.insert({target, sha256(source)}).second) return;
  TargetCounts& group = target_counts_[target];
  group.num_sources++;
  auto job = make_job();
  if (job) job->timeout_seconds = plan_.timeout_seconds;
  if (job)
    sources_.push_back({.target = target, .kernel = kernel, .job = std::move(*job), .num_group_threads = threads});
  else group.no_source_reason = job.diag().message;
}

// A refused kernel is no failure: tinygrad also refuses some kernels.
void BatchCompiler::add_refused_kernel(const std::string& target, const std::string& kernel, const Diag& diag) {
  std::string expected = diag.expected.empty() ? "" : ", expected " + diag.expected;
  refused_kernels_.push_back({target, kernel, diag.message + expected});
}

Status BatchCompiler::compile_sources() {
  auto one = [&](size_t i) -> Status {
    if (session_.is_cancelled()) return Diag{"cancelled"};
    CompiledSource& c = sources_[i];
    if (!plan_.should_report_resources) return compile_source(c, plan_.uses_cache), Unit{};
    return report_resources(c, plan_.num_group_threads, plan_.uses_cache), Unit{};
  };
  auto tell = [&](size_t i) {
    session_.report_progress(std::to_string(i + 1) + " of " + std::to_string(sources_.size()) + " sources compiled");
  };
  if (auto status = parallel_for(sources_.size(), session_.num_jobs, one, tell); !status) return status;
  for (const CompiledSource& c : sources_) {
    TargetCounts& group = target_counts_[c.target];
    group.compile_ms.push_back(c.milliseconds);
    group.num_compiled += c.failure.empty();
  }
  return Unit{};
}

Status BatchCompiler::require_any_source() const {
  if (!sources_.empty() || refused_kernels_.empty()) return Unit{};
  size_t others = refused_kernels_.size() - 1;
  return Diag{"no source: " + refused_kernels_[0].text() +
              (others ? "; nor have " + std::to_string(others) + " others" : "")};
}

bool BatchCompiler::has_failures() const {
  return std::ranges::any_of(sources_, [](const CompiledSource& c) { return !c.failure.empty(); });
}

std::string BatchCompiler::totals_text() const {
  std::string out = formatted("%-22s %8s %8s %9s %7s %11s\n", "target", "kernels", "sources", "compiled", "failed",
                              "median ms");
  for (const auto& [name, g] : target_counts_) {
    out += formatted("%-22s %8zu %8zu ", name.c_str(), g.num_kernels, g.num_sources);
    if (g.no_source_reason.empty())
      out +=
          formatted("%9zu %7zu %11.2f\n", g.num_compiled, g.num_sources - g.num_compiled, quantile(g.compile_ms, 0.5));
    else out += formatted("%9s %7s %11s  %s\n", "-", "-", "-", g.no_source_reason.c_str());
  }
  return out;
}

std::string BatchCompiler::text() const {
  std::string out = plan_.should_report_resources ? resources_text(sources_) : totals_text();
  for (const auto& [name, g] : target_counts_)
    if (plan_.should_report_resources && !g.no_source_reason.empty()) out += name + ": " + g.no_source_reason + "\n";
  for (const CompiledSource& c : sources_)
    if (!c.failure.empty()) out += "\n" + c.target + " " + c.kernel + ": " + c.failure + "\n";
  for (const RefusedKernel& r : refused_kernels_) out += "\nno source: " + r.text() + "\n";
  return out;
}

std::string BatchCompiler::json(bool times) const {
  return json_object([&](JsonWriter& json) {
    json.key("targets").object([&] {
      for (const auto& [name, g] : target_counts_)
        json.key(name).object([&] {
          json.member("kernels", g.num_kernels).member("sources", g.num_sources).member("compiled", g.num_compiled);
          json.member("compilable", g.no_source_reason.empty())
              .key("median_ms")
              .number(quantile(g.compile_ms, 0.5), "%f");
        });
    });
    json.key("sources").array([&] {
      for (const CompiledSource& c : sources_)
        if (times || plan_.should_report_resources || !c.failure.empty())
          json.start_line().object([&] {
            json.member("target", c.target).member("kernel", c.kernel).member("message", c.failure);
            json.key("ms").number(c.milliseconds, "%f").key("cpu_ms").number(c.cpu_milliseconds, "%f");
            json.member("bytes", c.output_bytes);
            if (plan_.should_report_resources) write_resources(json, c);
          });
    });
    json.key("refused").array([&] {
      for (const RefusedKernel& r : refused_kernels_)
        json.start_line().object([&] {
          json.member("target", r.target).member("kernel", r.kernel).member("why", r.reason);
        });
    });
  }) + "\n";
}

}  // namespace tgc
