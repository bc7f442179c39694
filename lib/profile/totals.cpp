#include "lib/profile/totals.h"

#include <algorithm>

#include "lib/profile/memory_events.h"
#include "lib/profile/roofline.h"

namespace tgc::profile {

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
    if (p.chosen[n] && !t->second.flops) t->second.flops = flops_of(p, n, listings.of(n));
  }
  std::vector<Total> out;
  for (auto& [key, t] : totals) out.push_back(std::move(t));
  std::ranges::stable_sort(out, std::greater(), &Total::seconds);
  return out;
}

}  // namespace tgc::profile
