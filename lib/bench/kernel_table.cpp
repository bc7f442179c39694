// The reports of `tgc bench --kernels`, as text and JSON.
#include <algorithm>

#include "lib/beam/beam_log.h"
#include "lib/bench/kernel_bench.h"
#include "lib/support/counted.h"
#include "lib/support/json_writer.h"

namespace tgc {
namespace {

std::string duration_text(double seconds) {
  if (seconds >= 1) return formatted("%.3f s", seconds);
  return seconds >= 1e-3 ? formatted("%.3f ms", seconds * 1e3) : formatted("%.2f us", seconds * 1e6);
}

std::string rate_text(double per_second) {
  const double giga = per_second * 1e-9;
  return giga >= 100 ? formatted("%.0f", giga) : giga >= 10 ? formatted("%.1f", giga) : formatted("%.2f", giga);
}

std::string quotient_text(double a, double b) { return b > 0 ? formatted("%.2f", a / b) : "-"; }

std::string total_text(const KernelBenchResult& result) {
  double least = 0, median = 0, launches = 0;
  size_t count = 0;
  for (const BenchedKernel& k : result.kernels) {
    if (!k.error.empty()) continue;
    count++, least += k.least_seconds, median += k.median_seconds;
    if (auto peaks = result.peaks.find(k.device_option()); peaks != result.peaks.end())
      launches += std::min(peaks->second.launch_seconds, k.least_seconds);
  }
  if (!count) return "";
  std::string out = "     all " + count_text(count, "kernel") + ", each once: " + duration_text(least) + " (median " +
                    duration_text(median) + ")";
  if (launches > 0) out += ", of which launching takes at most " + duration_text(launches);
  return out + "\n";
}

// Returns each kernel's opts with the largest measured gain above 1. If no kernel's opts were tried, returns those of
// the kernel's first reason that has any.
std::vector<ProgramOpts> best_opts(const KernelBenchResult& result, bool& is_measured) {
  std::vector<ProgramOpts> out;
  is_measured = false;
  for (const BenchedKernel& k : result.kernels)
    for (const SlownessReason& r : k.reasons)
      is_measured |= r.measured_speedup.has_value() || !r.measurement_text.empty();
  for (const BenchedKernel& k : result.kernels) {
    const SlownessReason* best = nullptr;
    for (const SlownessReason& r : k.reasons)
      if (!r.opts.empty() &&
          (is_measured ? r.measured_speedup.value_or(1) > (best ? *best->measured_speedup : 1) : !best))
        best = &r;
    if (best) out.push_back({k.function_name, best->opts});
  }
  return out;
}

std::string program_text(const KernelBenchResult& result) {
  bool is_measured = false;
  const auto opts = best_opts(result, is_measured);
  if (opts.empty()) return "";
  return "\nthe " + std::string(is_measured ? "fastest" : "first") + " opts in the program, before its first kernel" +
         (is_measured ? "" : "; --try measures them") + ":\n" + opts_for_program(opts);
}

std::string limit_text(const BenchedKernel& k) {
  return k.limiting_resource.empty() ? "-"
                                     : formatted("%3.0f%% %s", k.share_of_peak_rate * 100, k.limiting_resource.c_str());
}

std::string peaks_text(const std::string& device, const PeakRates& p) {
  std::string out =
      device + ": peak " + rate_text(p.operations_per_second) + " GFLOPS, " + rate_text(p.bytes_per_second) + " GB/s";
  for (const PeakRates::CacheRate& c : p.cache_rates)
    out += formatted(", %s up to %.0f kB", rate_text(c.bytes_per_second).c_str(), double(c.working_set) / 1024);
  if (p.launch_seconds > 0) out += ", launch " + duration_text(p.launch_seconds);
  return out + " (" + p.source + ")\n";
}

std::string reason_text(size_t number, const SlownessReason& r) {
  std::string out = formatted("  %zu. %s: ", number, std::string(name_of(r.kind)).c_str()) + r.text + "\n";
  if (!r.opts.empty()) out += "     opts_to_apply: " + r.opts + "\n";
  if (r.measured_speedup)
    out += formatted("     measured: %.2f times as fast", *r.measured_speedup) +
           (*r.measured_speedup < 1 ? ": slower than the kernel as it is; " : "; ") + r.measurement_text + "\n";
  else if (!r.measurement_text.empty()) out += "     " + r.measurement_text + "\n";
  return out;
}

}  // namespace

std::string kernels_text(const KernelBenchResult& result) {
  size_t width = 6;
  for (const BenchedKernel& k : result.kernels) width = std::max(width, std::min<size_t>(k.name.size(), 48));
  std::string out = formatted("%4s %-*s %-11s %11s %11s %8s %8s %9s %9s  %s\n", "", int(width), "kernel", "device",
                              "least", "median", "GFLOPS", "GB/s", "est. ops", "est. mem", "of peak");
  size_t failed = 0;
  for (size_t i = 0; i < result.kernels.size(); i++) {
    const BenchedKernel& k = result.kernels[i];
    if (!k.error.empty()) {
      failed++;
      continue;
    }
    out += formatted("%4zu %-*s %-11s %11s %11s %8s %8s %9s %9s  %s\n", i + 1, int(width), k.name.c_str(),
                     k.device.c_str(), duration_text(k.least_seconds).c_str(), duration_text(k.median_seconds).c_str(),
                     rate_text(k.kernel_cost.num_operations / k.least_seconds).c_str(),
                     rate_text(k.kernel_cost.total_bytes() / k.least_seconds).c_str(),
                     quotient_text(k.estimated_cost.num_operations, k.kernel_cost.num_operations).c_str(),
                     quotient_text(std::min(k.estimated_cost.bytes_touched, k.estimated_cost.bytes_moved),
                                   k.kernel_cost.total_bytes())
                         .c_str(),
                     limit_text(k).c_str());
  }
  out += total_text(result);
  for (const auto& [device, peaks] : result.peaks) out += peaks_text(device, peaks);
  for (const std::string& why : result.peak_errors) out += "no peak: " + why + "\n";
  for (size_t i = 0; i < result.kernels.size(); i++)
    if (!result.kernels[i].error.empty())
      out += formatted("%4zu ", i + 1) + result.kernels[i].name + ": not timed: " + result.kernels[i].error + "\n";
  std::vector<size_t> explained;
  for (size_t i = 0; i < result.kernels.size(); i++)
    if (result.kernels[i].is_explained) explained.push_back(i);
  std::ranges::stable_sort(explained, std::greater(), [&](size_t i) { return result.kernels[i].least_seconds; });
  for (size_t i : explained) {
    const BenchedKernel& k = result.kernels[i];
    out += "\n" + k.name + ", " + duration_text(k.least_seconds) + ", opts " + (k.opts.empty() ? "()" : k.opts) + ":\n";
    if (!k.unexplained_reason.empty()) out += "  " + k.unexplained_reason + "\n";
    if (k.reasons.empty() && k.unexplained_reason.empty())
      out += "  nothing noticed in its list and its code; `tgc beam` searches for faster opts\n";
    for (size_t n = 0; n < k.reasons.size(); n++) out += reason_text(n + 1, k.reasons[n]);
  }
  return out + program_text(result);
}

std::string kernels_json(const KernelBenchResult& result) {
  return json_object([&](JsonWriter& json) {
    json.key("kernels").array([&] {
      for (const BenchedKernel& k : result.kernels)
        json.start_line().object([&] {
          json.member("kernel", k.name).member("function", k.function_name);
          json.member("input", k.input).member("device", k.device);
          if (!k.error.empty()) return void(json.member("error", k.error));
          json.member("seconds", k.least_seconds).member("median", k.median_seconds).member("runs", k.num_runs);
          json.member("flops", k.kernel_cost.num_operations).member("bytes", k.kernel_cost.total_bytes());
          json.member("gflops", k.kernel_cost.num_operations / k.least_seconds * 1e-9)
              .member("gb_per_s", k.kernel_cost.total_bytes() / k.least_seconds * 1e-9);
          json.member("estimated_flops", k.estimated_cost.num_operations);
          json.member("estimated_bytes", std::min(k.estimated_cost.bytes_touched, k.estimated_cost.bytes_moved));
          if (!k.limiting_resource.empty())
            json.member("peak_share", k.share_of_peak_rate).member("bound", k.limiting_resource);
          if (!k.is_explained) return;
          json.member("opts", k.opts);
          if (!k.unexplained_reason.empty()) json.member("unexplained", k.unexplained_reason);
          json.key("reasons").array([&] {
            for (const SlownessReason& r : k.reasons)
              json.object([&] {
                json.member("reason", name_of(r.kind)).member("text", r.text).member("weight", r.possible_speedup);
                if (!r.opts.empty()) json.member("opt", r.opts);
                if (r.measured_speedup) json.member("gain", *r.measured_speedup);
                if (!r.measurement_text.empty()) json.member("tried", r.measurement_text);
              });
          });
        });
    });
    json.key("peaks").object([&] {
      for (const auto& [device, p] : result.peaks)
        json.key(device).object([&] {
          json.member("flops", p.operations_per_second).member("bytes", p.bytes_per_second).member("source", p.source);
          if (p.launch_seconds > 0) json.member("launch_s", p.launch_seconds);
          if (p.instruction_seconds > 0)
            json.member("instruction_s", p.instruction_seconds)
                .member("add_s", p.addition_latency_seconds)
                .member("near_line_s", p.near_load_seconds)
                .member("far_line_s", p.far_load_seconds)
                .member("group_s", p.group_seconds);
          json.key("caches").array([&] {
            for (const PeakRates::CacheRate& c : p.cache_rates)
              json.object([&] { json.member("working_set", c.working_set).member("bytes", c.bytes_per_second); });
          });
        });
    });
  }) + "\n";
}

}  // namespace tgc
