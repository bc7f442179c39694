#include "lib/profile/roofline.h"

#include <algorithm>

#include "lib/support/counted.h"

namespace tgc::profile {
namespace {

// Rates that AMD publishes for the card with all units of the architecture. Another card of the architecture is slower.
constexpr DevicePeak kPeaks[] = {
    {"gfx942", "MI300X", 163.4e12, 5.3e12},     {"gfx950", "MI355X", 157.3e12, 8.0e12},
    {"gfx1100", "RX 7900 XTX", 61.4e12, 960e9}, {"gfx1151", "Radeon 8060S", 29.7e12, 256e9},
    {"gfx1200", "RX 9060 XT", 25.6e12, 320e9},  {"gfx1201", "RX 9070 XT", 48.7e12, 640e9},
};

bool has_float_type(std::string_view op) {
  return op.find("_f16") != op.npos || op.find("_f32") != op.npos || op.find("_f64") != op.npos ||
         op.find("_bf16") != op.npos;
}

double single_flops(std::string_view op) {
  if (!op.starts_with("v_") || !has_float_type(op)) return 0;
  op.remove_prefix(2);
  if (op.starts_with("dual_")) op.remove_prefix(5);
  if (op.starts_with("wmma_") && op.find("16x16x16") != op.npos) return 2.0 * 16 * 16 * 16 / 32;
  double scale = 1;
  if (op.starts_with("pk_")) op.remove_prefix(3), scale = 2;
  for (std::string_view two : {"fma", "mad", "dot2"})
    if (op.starts_with(two)) return two == "dot2" ? 4 : 2 * scale;
  for (std::string_view one :
       {"add_", "sub", "mul_", "min_", "max_", "exp_", "log_", "rcp_", "rsq_", "sqrt_", "sin_", "cos_"})
    if (op.starts_with(one)) return scale;
  return 0;
}

}  // namespace

double lane_flops(std::string_view assembly) {
  double out = 0;
  while (!assembly.empty()) {  // a dual instruction: "v_dual_... :: v_dual_..."
    size_t end = assembly.find(" :: ");
    std::string_view part = assembly.substr(0, end);
    out += single_flops(part.substr(0, part.find(' ')));
    assembly = end == assembly.npos ? std::string_view() : assembly.substr(end + 4);
  }
  return out;
}

const DevicePeak* device_peak(std::string_view arch) {
  auto found = std::ranges::find(kPeaks, arch, &DevicePeak::arch);
  return found == std::end(kPeaks) ? nullptr : found;
}

std::optional<double> flops_of(const Profile& p, size_t kernel, const std::map<uint64_t, std::string>& listing) {
  auto times = p.instructions_of(kernel);
  if (times.empty() || listing.empty()) return {};
  double flops = 0, followed = 0, waves = 0;
  for (uint32_t n = 0; n < times.size(); n++) {
    auto text = listing.find(p.code_of(kernel)->address_of(n));
    if (text != listing.end()) flops += double(times[n].hits) * lane_flops(text->second) * 32;
  }
  for (size_t i : p.trace.kernels[kernel].sqtt) {
    waves += double(p.summaries[i].waves.size());
    if (p.summaries[i].instructions.empty()) continue;
    for (const WaveSpan& w : p.summaries[i].waves) followed += w.cu == 0 && w.simd == 0;
  }
  return followed > 0 ? std::optional(flops / followed * waves) : std::nullopt;
}

std::string bound_by(std::optional<double> flops, std::optional<double> bytes, double seconds, std::string_view arch) {
  const DevicePeak* peak = device_peak(arch);
  if (!peak || seconds <= 0 || (!flops && !bytes)) return "";
  double compute = flops.value_or(0) / seconds / peak->flops, memory = bytes.value_or(0) / seconds / peak->bytes;
  double share = std::max(compute, memory);
  if (share < 0.1) return formatted("latency (%.1f%% of peak)", share * 100);
  return formatted("%s %.0f%%", compute > memory ? "compute" : "memory", share * 100);
}

}  // namespace tgc::profile
