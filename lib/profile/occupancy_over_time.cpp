#include "lib/profile/occupancy_over_time.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "lib/support/counted.h"

namespace tgc::profile {
namespace {

constexpr size_t kNumParts = 100;
constexpr double kFullShare = 0.9;
constexpr int64_t kMaxPlausibleTime = int64_t(1) << 50;  // later times are those of damaged traces

struct SimdWaveSpan {
  int64_t begin, end;
  std::tuple<size_t, uint32_t, uint32_t> simd;  // trace, compute unit, SIMD
};

std::vector<SimdWaveSpan> simd_wave_spans(const Profile& p, size_t run_index) {
  std::vector<SimdWaveSpan> out;
  for (size_t event : p.trace.runs[run_index].sqtt_events) {
    const auto offset = p.clock_offset(event);
    if (!offset || *offset < -kMaxPlausibleTime || *offset > kMaxPlausibleTime) continue;
    for (const WaveSpan& w : p.sqtt_summaries[event].wave_spans)
      if (w.begin != WaveSpan::kUnknownTime && w.end != WaveSpan::kUnknownTime && w.begin < w.end &&
          w.begin > -kMaxPlausibleTime && w.end < kMaxPlausibleTime)
        out.push_back({w.begin + *offset, w.end + *offset, {event, w.cu, w.simd}});
  }
  return out;
}

uint32_t max_resident_waves(const std::vector<SimdWaveSpan>& spans) {
  std::map<std::tuple<size_t, uint32_t, uint32_t>, std::vector<std::pair<int64_t, int>>> changes;
  for (const SimdWaveSpan& s : spans) changes[s.simd].insert(changes[s.simd].end(), {{s.begin, 1}, {s.end, -1}});
  int out = 0;
  for (auto& [simd, list] : changes) {
    std::ranges::sort(list);
    int now = 0;
    for (auto [time, change] : list) out = std::max(out, now += change);
  }
  return uint32_t(out);
}

}  // namespace

std::string_view occupancy_limit_name(OccupancyLimit limit) {
  constexpr std::string_view kNames[] = {"starting", "launch", "resources", "full"};
  static_assert(std::size(kNames) == size_t(OccupancyLimit::Count));
  return kNames[size_t(limit)];
}

double OccupancyOverTime::time_share_of_limit(OccupancyLimit limit) const {
  return limit_by_part.empty() ? 0
                                 : double(std::ranges::count(limit_by_part, limit)) / double(limit_by_part.size());
}

std::optional<OccupancyOverTime> occupancy_over_time(const Profile& p, size_t run_index) {
  const std::vector<SimdWaveSpan> spans = simd_wave_spans(p, run_index);
  if (spans.empty() || !p.trace.emulator.empty()) return {};
  const KernelRun& run = p.trace.runs[run_index];
  OccupancyOverTime out{.begin = spans[0].begin, .end = spans[0].end};
  int64_t last_begin = spans[0].begin;
  std::set<std::tuple<size_t, uint32_t, uint32_t>> simds;
  double sum = 0;
  for (const SimdWaveSpan& s : spans) {
    out.begin = std::min(out.begin, s.begin), out.end = std::max(out.end, s.end);
    last_begin = std::max(last_begin, s.begin);
    simds.insert(s.simd);
    sum += double(s.end - s.begin);
  }
  out.num_simds = simds.size(), out.largest_wave_count = max_resident_waves(spans);
  if (const DevicePeakRates* device = find_device_peak(run.arch)) out.num_device_simds = device->num_simds;
  if (const auto fits = occupancy_of_run(run))
    out.fitting_waves = fits->num_resident_waves, out.max_waves = fits->max_waves,
    out.limiting_resource = fits->limiting_resource;
  const double length = double(out.end - out.begin), part = length / kNumParts;
  out.overall_mean_num_waves = sum / length / double(out.num_simds);
  out.mean_num_waves.resize(kNumParts);
  for (const SimdWaveSpan& s : spans) {
    const double from = double(s.begin - out.begin) / part, to = double(s.end - out.begin) / part;
    for (size_t n = size_t(from); n < kNumParts && double(n) < to; n++)
      out.mean_num_waves[n] += std::min(to, double(n + 1)) - std::max(from, double(n));
  }
  for (size_t n = 0; n < kNumParts; n++) {
    out.mean_num_waves[n] /= double(out.num_simds);
    const bool is_full = out.fitting_waves && out.mean_num_waves[n] >= kFullShare * out.fitting_waves;
    const bool has_started = (double(n) + 0.5) * part >= double(last_begin - out.begin);
    out.limit_by_part.push_back(is_full       ? out.fitting_waves < out.max_waves ? OccupancyLimit::Resources
                                                                                  : OccupancyLimit::Full
                                : has_started ? OccupancyLimit::Launch
                                              : OccupancyLimit::Starting);
  }
  return out;
}

std::string occupancy_text(const OccupancyOverTime& o) {
  std::string out = formatted("occupancy: a SIMD has %.1f waves on average and %u at most", o.overall_mean_num_waves,
                              o.largest_wave_count);
  if (o.fitting_waves) {
    out += formatted("; %u fit", o.fitting_waves);
    if (o.fitting_waves < o.max_waves) out += formatted(" of %u, by %s", o.max_waves, o.limiting_resource.c_str());
  }
  out += formatted("; %zu%s SIMDs have waves", o.num_simds,
                   o.num_device_simds ? formatted(" of %u", o.num_device_simds).c_str() : "");
  constexpr std::pair<OccupancyLimit, const char*> kLimitTexts[] = {
      {OccupancyLimit::Starting, "waves are being started"}, {OccupancyLimit::Launch, "no waves are left to start"},
      {OccupancyLimit::Resources, "resources limit"}, {OccupancyLimit::Full, "SIMDs are full"}};
  for (auto [limit, text] : kLimitTexts)
    if (const double share = o.time_share_of_limit(limit); share > 0)
      out += formatted("; %.0f%% of the time %s", share * 100, text);
  return out + "\n";
}

void write_occupancy(JsonWriter& json, const OccupancyOverTime& o) {
  json.object([&] {
    json.member("begin", o.begin)
        .member("end", o.end)
        .member("mean", o.overall_mean_num_waves)
        .member("largest", o.largest_wave_count);
    json.member("simds", o.num_simds).member("device_simds", o.num_device_simds).member("fitting", o.fitting_waves);
    json.member("most", o.max_waves).member("limiter", o.limiting_resource).member("waves", o.mean_num_waves);
    json.key("limits").array([&] {
      for (OccupancyLimit limit : o.limit_by_part) json.value(occupancy_limit_name(limit));
    });
  });
}

}  // namespace tgc::profile
