#include <algorithm>

#include "lib/profile/memory_events.h"
#include "lib/profile/report.h"
#include "lib/profile/roofline.h"
#include "lib/run/kernel_line.h"
#include "lib/support/counted.h"
#include "lib/support/table.h"

namespace tgc::profile {
namespace {

// The events of one name on one device.
struct Total {
  std::string device, name;
  double seconds = 0;
  size_t count = 0;
  std::optional<double> flops, bytes;  // of one execution
  bool is_copy = false;
  std::string arch;
};

std::string rate_text(std::optional<double> amount, double seconds, const char* unit) {
  if (!amount || seconds <= 0) return "-";
  double rate = *amount / seconds;
  return rate < 1e12 ? formatted("%.1f G%s", rate * 1e-9, unit) : formatted("%.1f T%s", rate * 1e-12, unit);
}

// Devices of host code: tinygrad's compiler and the user's calls.
bool is_host(std::string_view device) { return device == "USER" || device == "TINY"; }

std::vector<Total> totals_of(const Profile& p, Listings& listings) {
  std::map<KernelOfDevice, Total> totals;
  for (const RangeEvent& e : p.trace.ranges) {
    Total& t = totals[{std::string(e.device), e.name}];
    t.device = e.device, t.name = e.name, t.count++;
    t.seconds += (e.end - e.begin) * 1e-6;
    t.is_copy |= e.is_copy;
    if (e.bytes) t.bytes = t.bytes.value_or(0) + *e.bytes;
  }
  for (auto& [key, t] : totals)
    if (t.bytes) t.bytes = *t.bytes / double(t.count);
  for (auto& [key, bytes] : buffer_bytes(p.trace, memory_events(p.trace)))
    if (auto t = totals.find(key); t != totals.end() && bytes[0] > 0) t->second.bytes = bytes[0];
  for (size_t n = 0; n < p.trace.kernels.size(); n++) {
    const KernelRun& run = p.trace.kernels[n];
    auto t = totals.find({std::string(run.device), run.kernel});
    if (t == totals.end()) continue;
    t->second.arch = run.arch;
    if (!t->second.flops) t->second.flops = flops_of(p, n, listings.of(n));
  }
  std::vector<Total> out;
  for (auto& [key, t] : totals) out.push_back(std::move(t));
  std::ranges::stable_sort(out, std::greater(), &Total::seconds);
  return out;
}

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
