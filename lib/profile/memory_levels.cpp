#include "lib/profile/memory_levels.h"

#include <algorithm>

#include "lib/support/counted.h"
#include "lib/support/table.h"

namespace tgc::profile {
namespace {

constexpr double kLineBytes = 128;  // of the L2 caches of RDNA3, RDNA4 and CDNA

struct CacheCounters {
  const char *name, *hits, *misses;
  double line_bytes;  // bytes of a request; 0: unknown
};
constexpr CacheCounters kCaches[] = {
    {"instruction cache", "SQC_ICACHE_HITS", "SQC_ICACHE_MISSES", 0},
    {"constant cache", "SQC_DCACHE_HITS", "SQC_DCACHE_MISSES", 0},
    {"L2 cache", "GL2C_HIT", "GL2C_MISS", kLineBytes},
    {"L2 cache", "TCC_HIT", "TCC_MISS", kLineBytes},
};
constexpr std::pair<const char*, const char*> kLocal[] = {{"SQC_LDS_IDX_ACTIVE", "SQC_LDS_BANK_CONFLICT"},
                                                          {"SQ_LDS_IDX_ACTIVE", "SQ_LDS_BANK_CONFLICT"}};

// Returns one unit's loads and stores of all waves, scaled from the followed waves; nullopt if these have none.
std::optional<MemoryLevel> executed_accesses(const Profile& p, size_t run_index, const StallReport& stalls,
                                             const KernelFigures& f, InstructionUnit unit, const char* name) {
  MemoryLevel out{.name = name,
                  .request_unit = "instructions",
                  .num_bytes = 0.0,
                  .is_upper_bound = true,
                  .figure_source = "the trace"};
  const auto times = p.instruction_times_of_run(run_index);
  for (size_t n = 0; n < std::min(times.size(), stalls.roles.size()); n++) {
    const InstructionRole& role = stalls.roles[n];
    if (role.unit != unit || role.raised_counters.empty()) continue;
    out.num_requests += double(times[n].num_executions);
    *out.num_bytes += double(times[n].num_executions) * role.lane_bytes * f.max_active_lanes;
  }
  if (!out.num_requests || !f.num_followed_waves) return {};
  const double scale = double(f.num_waves) / double(f.num_followed_waves);
  out.num_requests *= scale, *out.num_bytes *= scale;
  if (!*out.num_bytes) out.num_bytes.reset(), out.is_upper_bound = false;
  return out;
}

}  // namespace

std::vector<MemoryLevel> memory_levels(const Profile& p, size_t run_index, const StallReport& stalls,
                                       const KernelFigures& f) {
  std::vector<MemoryLevel> out;
  const auto totals = counter_totals(p, run_index);
  auto sum = [&](const char* name) -> std::optional<double> {
    auto found = totals.find(name);
    return found == totals.end() || !found->second.num_values ? std::nullopt
                                                               : std::optional(double(found->second.value_sum));
  };
  for (auto [unit, name] : {std::pair(InstructionUnit::Memory, "loads and stores"),
                            {InstructionUnit::Lds, "loads and stores of local memory"}})
    if (auto level = executed_accesses(p, run_index, stalls, f, unit, name)) out.push_back(std::move(*level));
  for (auto [active, conflicts] : kLocal)
    if (auto cycles = sum(active), lost = sum(conflicts); cycles && lost && *cycles > 0)
      out.push_back({.name = "local memory",
                     .request_unit = "cycles",
                     .num_requests = *cycles,
                     .hit_rate = 1 - *lost / *cycles,
                     .figure_source = std::string(active) + ", " + conflicts});
  std::optional<MemoryLevel> device;
  for (const CacheCounters& c : kCaches) {
    auto hits = sum(c.hits), misses = sum(c.misses);
    if (!hits || !misses || *hits + *misses <= 0) continue;
    MemoryLevel level{.name = c.name, .request_unit = "requests", .num_requests = *hits + *misses,
                      .hit_rate = *hits / (*hits + *misses), .figure_source = std::string(c.hits) + ", " + c.misses};
    if (c.line_bytes > 0) {
      level.num_bytes = level.num_requests * c.line_bytes, level.is_upper_bound = true;
      device = {.name = "device memory",
                .request_unit = "cache lines",
                .num_requests = *misses,
                .num_bytes = *misses * c.line_bytes,
                .is_upper_bound = true,
                .figure_source = c.misses};
    }
    out.push_back(std::move(level));
  }
  if (device) out.push_back(std::move(*device));
  return out;
}

std::string memory_levels_text(const std::vector<MemoryLevel>& levels) {
  if (levels.empty()) return "";
  std::vector<std::vector<std::string>> rows{{"memory", "requests", "", "hits", "bytes", "by"}};
  for (const MemoryLevel& l : levels)
    rows.push_back({l.name, formatted("%.0f", l.num_requests), l.request_unit,
                    l.hit_rate ? formatted("%.1f%%", *l.hit_rate * 100) : "-",
                    l.num_bytes ? formatted("%s%.0f", l.is_upper_bound ? "<= " : "", *l.num_bytes) : "-",
                    l.figure_source});
  return table_text(rows, "lrlrr");
}

void write_memory_levels(JsonWriter& json, const std::vector<MemoryLevel>& levels) {
  json.array([&] {
    for (const MemoryLevel& l : levels)
      json.object([&] {
        json.member("name", l.name).member("requests", l.num_requests).member("unit", l.request_unit);
        json.member("hit_rate", l.hit_rate).member("bytes", l.num_bytes).member("at_most", l.is_upper_bound);
        json.member("by", l.figure_source);
      });
  });
}

}  // namespace tgc::profile
