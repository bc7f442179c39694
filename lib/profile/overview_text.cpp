#include "lib/profile/report.h"
#include "lib/profile/roofline.h"
#include "lib/profile/totals.h"
#include "lib/run/kernel_line.h"
#include "lib/support/counted.h"
#include "lib/support/table.h"

namespace tgc::profile {
namespace {

std::string rate_text(std::optional<double> amount, double seconds, const char* unit) {
  if (!amount || seconds <= 0) return "-";
  double rate = *amount / seconds;
  return rate < 1e12 ? formatted("%.1f G%s", rate * 1e-9, unit) : formatted("%.1f T%s", rate * 1e-12, unit);
}

// Devices of host code: tinygrad's compiler and the user's calls.
bool is_host(std::string_view device) { return device == "USER" || device == "TINY"; }

std::string trimmed_time(double seconds) { return time_text(seconds, 0); }

std::string hardware_runs(const Profile& p) {
  std::vector<std::vector<std::string>> rows{{"run", "device", "arch", "traces", "packets", "waves", "counters"}};
  for (size_t n = 0; n < p.trace.kernels.size(); n++) {
    if (!p.chosen[n]) continue;
    const KernelRun& run = p.trace.kernels[n];
    uint64_t packets = 0, waves = 0;
    std::string errors;
    for (size_t i : run.sqtt) {
      packets += p.summaries[i].packets, waves += p.summaries[i].waves.size();
      if (errors.empty()) errors = p.summaries[i].error;
    }
    auto counters = std::ranges::count(p.trace.counters, n, &CounterSample::kernel);
    rows.push_back({run.name, std::string(run.device), run.arch, std::to_string(run.sqtt.size()),
                    std::to_string(packets), std::to_string(waves), std::to_string(counters)});
    if (!errors.empty()) rows.push_back({"  not mapped to instructions: " + errors});
  }
  for (const PmaEvent& e : p.trace.pma)
    if (p.wants(e.kernel))
      rows.push_back({e.kernel, std::string(e.device), formatted("SM %#x", unsigned(e.sm_version)), "samples", "-", "-",
                      "-"});
  return rows.size() == 1 ? "" : "\nhardware events (tgc profile FILE#RUN shows one run)\n" + table(rows, "lllrrrr");
}

}  // namespace

const Listings::Listing& Listings::of(size_t kernel) {
  const KernelRun& run = profile_->trace.kernels[kernel];
  if (!run.program || !profile_->code_of(kernel)) return none_;
  auto [found, is_new] = listings_.try_emplace(run.program);
  if (is_new) found->second = disassemble_program(*run.program, run.arch);
  return found->second;
}

std::string overview_text(const Profile& p, const std::string& file) {
  Listings listings(p);
  std::vector<Total> totals = totals_of(p, listings);
  std::string archs;
  for (auto& [device, arch] : p.trace.archs)
    if (!arch.empty() && device.find(":SDMA") == device.npos) archs += ", " + device + " is " + arch;
  std::string out = file + ": written by tinygrad " + p.trace.release + archs + "\n";
  double device_seconds = 0, host_seconds = 0;
  for (const Total& t : totals) (is_host(t.device) ? host_seconds : device_seconds) += t.seconds;
  std::vector<std::vector<std::string>> rows{
      {"total", "%", "count", "mean", "device", "kernel or copy", "FLOPS", "bytes/s", "bound by"}};
  for (const Total& t : totals) {
    if (is_host(t.device)) continue;
    double mean = t.seconds / double(t.count);
    double percent = device_seconds > 0 ? t.seconds / device_seconds * 100 : 0;
    rows.push_back({trimmed_time(t.seconds), formatted("%.1f", percent), std::to_string(t.count),
                    trimmed_time(mean), t.device, t.name, rate_text(t.flops, mean, "FLOPS"),
                    rate_text(t.bytes, mean, "B/s"), t.is_copy ? "copy" : bound_by(t.flops, t.bytes, mean, t.arch)});
  }
  out += rows.size() == 1 ? "no kernel ran\n" : table(rows, "rrrrllrr");
  if (host_seconds > 0) out += "host: " + trimmed_time(host_seconds) + " in tinygrad and the program's tensor calls\n";
  return out + hardware_runs(p);
}

}  // namespace tgc::profile
