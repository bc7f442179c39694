#include <algorithm>

#include "lib/profile/report.h"
#include "lib/support/counted.h"

namespace tgc::profile {
namespace {

// Thresholds: a share below which a hint would be noise.
constexpr double kWaitShare = 0.25, kConflictShare = 0.1, kLowUse = 10, kMissShare = 0.5;

bool is_wait(std::string_view assembly) { return assembly.starts_with("s_wait"); }
bool is_load(std::string_view assembly) {
  return assembly.find("_load") != assembly.npos && !assembly.starts_with("s_");
}

void add_waits(const Profile& p, size_t kernel, const Listings::Listing& listing, std::vector<std::string>& out) {
  auto times = p.instructions_of(kernel);
  double all = 0;
  for (const auto& t : times) all += double(t.cycles);
  std::string last_load;
  size_t loads = 0;  // since the last wait
  for (uint32_t n = 0; n < times.size(); n++) {
    auto text = listing.find(p.code_of(kernel)->address_of(n));
    if (text == listing.end() || !times[n].hits) continue;
    std::string place = formatted("'%s' (%#x)", text->second.c_str(), unsigned(text->first));
    if (is_load(text->second)) last_load = place, loads++;
    if (!is_wait(text->second)) continue;
    double idle = double(times[n].idle);
    if (!last_load.empty() && idle > kWaitShare * all)
      out.push_back(formatted(
          "waves wait %.0f%% of their time at %s for %zu load%s, the last of them %s, and no other wave of the SIMD "
          "issues: load earlier, load more at once, or run more waves",
          idle / all * 100, place.c_str(), loads, loads == 1 ? "" : "s", last_load.c_str()));
    loads = 0;
  }
}

}  // namespace

std::vector<std::string> hints(const Profile& p, size_t kernel, const Listings::Listing& listing) {
  std::vector<std::string> out;
  add_waits(p, kernel, listing, out);
  auto totals = counter_totals(p, kernel);
  auto sum = [&](std::string_view name) {
    auto found = totals.find(name);
    return found == totals.end() ? 0.0 : double(found->second.sum);
  };
  double conflicts = sum("SQC_LDS_BANK_CONFLICT"), lds = sum("SQC_LDS_IDX_ACTIVE");
  if (lds > 0 && conflicts > kConflictShare * lds)
    out.push_back(formatted("%.0f%% of the cycles of local memory are bank conflicts (SQC_LDS_BANK_CONFLICT %.0f of "
                            "SQC_LDS_IDX_ACTIVE %.0f): pad the rows of local buffers",
                            conflicts / lds * 100, conflicts, lds));
  for (auto& [name, percent] : derived_counters(p, kernel))
    if (name == "VALU utilization" && percent < kLowUse)
      out.push_back(formatted("the vector units are used %.1f%% of the time (SQ_INSTS_VALU, GRBM_GUI_ACTIVE): the "
                              "kernel is too small for the GPU, or waits", percent));
  double hits = sum("GL2C_HIT"), misses = sum("GL2C_MISS");
  if (hits + misses > 1000 && misses > kMissShare * (hits + misses))
    out.push_back(formatted("%.0f%% of the requests miss the L2 cache (GL2C_MISS %.0f of %.0f): reuse data while it is "
                            "there, or read neighbouring addresses in neighbouring threads",
                            misses / (hits + misses) * 100, misses, hits + misses));
  return out;
}

}  // namespace tgc::profile
