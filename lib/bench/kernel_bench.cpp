#include "lib/bench/kernel_bench.h"

#include <algorithm>
#include <cmath>

#include "lib/beam/live_candidates.h"
#include "lib/bench/measure_opts.h"
#include "lib/compilation/pipeline.h"
#include "lib/compile/resources.h"
#include "lib/driver/source.h"
#include "lib/run/candidate.h"
#include "lib/run/run.h"
#include "lib/runtime/compile_source.h"
#include "lib/runtime/emulated.h"
#include "lib/support/pytext.h"
#include "lib/target/target.h"

namespace tgc {
namespace {

constexpr double kLowShare = 0.1;     // below this share of both peaks, neither memory nor arithmetic limits a kernel
// the launch limits a kernel if an empty one takes more than this share of its time
constexpr double kLaunchShare = 0.5;

void set_limiting_resource(BenchedKernel& k, const PeakRates& peaks) {
  if (k.least_seconds <= 0) return;
  const double rate = peaks.rate_for_bytes(k.kernel_cost.total_bytes());
  const double compute = peaks.operations_per_second > 0
                             ? k.kernel_cost.num_operations / k.least_seconds / peaks.operations_per_second
                             : 0;
  const double memory = rate > 0 ? k.kernel_cost.total_bytes() / k.least_seconds / rate : 0;
  k.share_of_peak_rate = std::max(compute, memory);
  if (peaks.launch_seconds > kLaunchShare * k.least_seconds) k.limiting_resource = "launch";
  else if (k.share_of_peak_rate < kLowShare) k.limiting_resource = "latency";
  else k.limiting_resource = compute > memory ? "compute" : rate > peaks.bytes_per_second ? "cache" : "memory";
}

// Peaks that are measured while other programs run may be too low. Replaces peaks that the kernel surpassed.
void raise_peaks(PeakRates& peaks, const BenchedKernel& k) {
  if (k.least_seconds <= 0 || peaks.source != kMeasuredPeaksSource) return;
  const double rate = k.kernel_cost.total_bytes() / k.least_seconds;
  peaks.operations_per_second = std::max(peaks.operations_per_second, k.kernel_cost.num_operations / k.least_seconds);
  peaks.launch_seconds = std::min(peaks.launch_seconds, k.least_seconds);
  for (PeakRates::CacheRate& cache : peaks.cache_rates) {  // the caches up to the smallest that holds the data
    cache.bytes_per_second = std::max(cache.bytes_per_second, rate);
    if (k.kernel_cost.total_bytes() <= double(cache.working_set)) return;
  }
  peaks.bytes_per_second = std::max(peaks.bytes_per_second, rate);
}

class KernelBench {
 public:
  KernelBench(const Session& session, const KernelBenchPlan& plan) : session_(session), plan_(plan) {}

  Result<KernelBenchResult> run() {
    for (const std::string& input : plan_.inputs) {
      auto source = GraphSource::open(session_, input, plan_.kernel);  // skips kernels of tinygrad's runtime
      if (!source) return source.diag();
      while (!session_.is_cancelled()) {
        auto in = source->next_graph();
        if (!in) return in.diag();
        if (!*in) break;
        if (!(*in)->is_tensor_graph) time_kernel(std::move(**in), input);
        else if (auto status = time_kernels(std::move(**in), input); !status) return status.diag();
      }
    }
    if (out_.kernels.empty()) return Diag{.message = "the inputs have no kernel to time"};
    for (BenchedKernel& k : out_.kernels)
      if (PeakRates* peaks = peaks_for(k)) raise_peaks(*peaks, k);
    for (BenchedKernel& k : out_.kernels)
      if (PeakRates* peaks = peaks_for(k)) set_limiting_resource(k, *peaks);
    for (SlowestKernel& slowest : slowest_kernels_) explain_slowness(slowest);
    return std::move(out_);
  }

 private:
  struct SlowestKernel {  // a kernel to explain after all kernels are timed
    size_t kernel_index = 0;    // index into out_.kernels
    InputGraph input_graph;
    double seconds = 0;
  };

  Status time_kernels(InputGraph in, const std::string& input) {
    auto pipeline = session_.pipeline(std::move(in));
    if (!pipeline) return pipeline.diag();
    return (*pipeline)->for_each_kernel(
        [&](InputGraph kernel) { return time_kernel(std::move(kernel), input), Unit{}; });
  }

  void time_kernel(InputGraph in, const std::string& input) {
    session_.report_progress(in.info.name);
    RunOptions options{
        .input = {.name = input},
        .device = {.name = plan_.device, .timeout_seconds = plan_.timeout_seconds, .timed_runs = plan_.num_runs},
        .compare = {.reference_device = "none"}};
    RunReport report = run_kernel(session_, in, options);
    BenchedKernel k{.name = in.info.name, .input = input, .device = report.device, .error = report.error};
    if (k.error.empty() && report.device.starts_with("REF"))
      k.error = "no device here runs a kernel for " + (in.info.target.empty() ? "this target" : in.info.target) +
                ": --device=CPU and --native compile it for the CPU";
    else if (k.error.empty() && !report.timed_runs)
      k.error = "too slow to be timed within " + std::to_string(int(plan_.timeout_seconds)) + " s: --timeout";
    if (k.error.empty()) {
      k.least_seconds = report.timed_runs->quantile(0), k.median_seconds = report.timed_runs->median_time(),
      k.num_runs = report.timed_runs->run_seconds.size();
      k.name = k.function_name = ansistrip(report.timed_runs->name);
      if (!in.info.name.empty() && in.record) k.name = in.info.name + " " + k.name;
      k.estimated_cost = report.timed_runs->kernel_cost;
      k.kernel_cost = cost_of_ast(in.root);
    }
    const double seconds = k.least_seconds;
    out_.kernels.push_back(std::move(k));
    if (seconds > 0) add_to_slowest(std::move(in), seconds);
  }

  void add_to_slowest(InputGraph in, double seconds) {
    auto place = std::ranges::find_if(slowest_kernels_, [&](const SlowestKernel& k) { return k.seconds < seconds; });
    slowest_kernels_.insert(place, {out_.kernels.size() - 1, std::move(in), seconds});
    if (slowest_kernels_.size() > plan_.num_explained_kernels) slowest_kernels_.pop_back();
  }

  // Finds the peaks at the first call for a device. Returns null if the kernel has no time, or if the peaks are not
  // known.
  PeakRates* peaks_for(const BenchedKernel& k) {
    if (k.least_seconds <= 0) return nullptr;
    const std::string device = k.device_option();
    if (!out_.peaks.contains(device) && !failed_devices_.contains(device)) {
      session_.report_progress("the peak rates of " + device);
      auto peaks = peaks_of_device(session_, device);
      if (peaks) out_.peaks.emplace(device, std::move(*peaks));
      else failed_devices_[device] = true, out_.peak_errors.push_back(peaks.diag().text());
    }
    auto found = out_.peaks.find(device);
    return found == out_.peaks.end() ? nullptr : &found->second;
  }

  void explain_slowness(SlowestKernel& slowest) {
    BenchedKernel& k = out_.kernels[slowest.kernel_index];
    session_.report_progress("why " + k.name + " is slow");
    k.is_explained = true;
    if (auto done = catch_failures([&] { return find_reasons(k, slowest.input_graph), Unit{}; }); !done)
      k.unexplained_reason = done.diag().text();
  }

  void find_reasons(BenchedKernel& k, const InputGraph& in) {
    auto candidate = make_candidate(session_, in);
    Placement place = std::move(candidate->choose_place(plan_.device).value_or_throw());
    if (auto refused = candidate->refusal(place)) throw Failure(*refused);
    Executable kernel = std::move(candidate->prepare_executable(place, {}).value_or_throw());
    auto pipeline = std::move(session_.pipeline(in).value_or_throw());
    const std::vector<UOp> list = make_linear_list(*pipeline, in, place);
    SlowKernel slow{.linear_list = list,
                    .is_cpu = place.target->device == "CPU",
                    .cost = k.kernel_cost,
                    .fastest_seconds = k.least_seconds};
    slow.num_units = !slow.is_cpu               ? num_compute_units(place)
                     : runs_threads_in_turn(in) ? 1
                                                : uint32_t(Settings().cpu_count());
    if (const PeakRates* peaks = peaks_for(k)) slow.peaks = *peaks;
    slow.launch_size = kernel.launch_size(middle_variable_values(kernel)).value_or_throw();
    auto job = compile_job_for(kernel.source());
    if (job)
      if (auto found = resources_of_job(*job); found && !found->empty()) slow.resources = found->front();
    k.opts = applied_opts_of(in, kernel);
    for (std::string_view op : {"UPCAST", "UNROLL"})
      for (size_t at = 0; (at = k.opts.find(op, at)) != k.opts.npos; at++) slow.num_unrolling_opts++;
    k.reasons = slowness_reasons(slow);
    if (k.reasons.empty()) return;
    auto searched = kernel_to_optimize(session_, in, place.target->name());
    if (!searched) {
      k.unexplained_reason = "no opts: " + searched.diag().text();
      return;
    }
    std::vector<Opt> applied = opts_for_own_pipeline(*searched, k);
    suggest_opts(k.reasons, *searched, applied);
    if (!plan_.should_measure_opts) return;
    measure_opts(k.reasons, *searched, applied, place, make_live_compile(session_, in, place));
    // measure_opts() compared with the kernel without opts: make the speedups refer to the kernel with its own opts
    if (!k.unexplained_reason.empty())
      for (SlownessReason& r : k.reasons)
        if (r.measured_speedup) r.measured_speedup = k.least_seconds / r.fastest_seconds;
  }

  // Returns the recorded linear list in tgc's IR or, if there is none, the list to which tgc lowers the kernel.
  std::vector<UOp> make_linear_list(Pipeline& pipeline, const InputGraph& in, const Placement& place) {
    if (pipeline.has_ability(Ability::Recording)) {
      auto rows = pipeline.rows();
      for (const Pipeline::StageData& row : rows.value_or_throw())
        if (row.stage->name == "linear") {
          imported_lists_.push_back(std::move(pipeline.imported_graph(row).value_or_throw()));
          if (!imported_lists_.back().list.empty()) return imported_lists_.back().list;
        }
    }
    return lower_kernel(make_kernel_graph(session_, in), *place.target).value_or_throw();
  }

  static std::string applied_opts_of(const InputGraph& in, const Executable& kernel) {
    if (kernel.info() && kernel.info()->applied_opts.is_tuple()) return kernel.info()->applied_opts.repr();
    return in.record && in.record->program ? in.record->program->applied_opts : "()";
  }

  // If k.opts do not apply in tgc's own pipeline, returns none and sets k.unexplained_reason.
  static std::vector<Opt> opts_for_own_pipeline(const SearchKernel& kernel, BenchedKernel& k) {
    auto read = catch_failures([&] { return read_opt_list(kernel.graph(), k.opts); });
    auto fits = read ? catch_failures([&] {
      Scheduler made = kernel.base_scheduler().copy();
      for (const Opt& opt : *read) made.apply_opt(opt);
      return Unit{};
    }) : Status(read.diag());
    if (fits) return std::move(*read);
    k.unexplained_reason = "its opts " + k.opts + " do not apply in tgc's own pipeline (" + fits.diag().message +
                    "): the opts below are instead of them";
    return {};
  }

  static VariableValues middle_variable_values(const Executable& kernel) {
    VariableValues out;
    for (const VariableSpec& v : kernel.variables()) out[v.name] = v.min + (v.max - v.min) / 2;
    return out;
  }

  // Takes an OpenCL device for the CPU, with one unit for each thread. 16 is an assumption for other devices.
  static uint32_t num_compute_units(const Placement& place) {
    return place.target->device == "CL" ? uint32_t(Settings().cpu_count()) : 16;
  }

  const Session& session_;
  const KernelBenchPlan& plan_;
  KernelBenchResult out_;
  std::vector<SlowestKernel> slowest_kernels_;
  std::vector<ImportedGraph> imported_lists_;
  std::map<std::string, bool> failed_devices_;
};

}  // namespace

Result<KernelBenchResult> bench_kernels(const Session& session, const KernelBenchPlan& plan) {
  for (const char* device : {"CUDA", "AMD", "HIP", "METAL"})
    if (is_emulated(device))
      return Diag{
          .message = "times of an emulated device say nothing about the device",
          .expected = "--kernels without --emulate, or `tgc run --emulate --profile`, which counts instructions"};
  return KernelBench(session, plan).run();
}

}  // namespace tgc
