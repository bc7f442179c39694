// The requests and bytes of a run at each level of the memory hierarchy, from its counters and thread traces.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/profile/stalls.h"
#include "lib/support/json_writer.h"

namespace tgc::profile {

struct MemoryLevel {
  std::string name;          // "L2 cache"
  std::string request_unit;  // what `num_requests` counts, such as "cycles"
  double num_requests = 0;
  // share of hits; for local memory, share of cycles without bank conflicts; nullopt: unknown
  std::optional<double> hit_rate;
  std::optional<double> num_bytes;  // nullopt: unknown
  bool is_upper_bound = false;  // `num_bytes` is an upper bound of the bytes
  std::string figure_source;    // the counters, or "the trace"
};

// Returns the levels from the waves to the device's memory, without those of which nothing is known.
std::vector<MemoryLevel> memory_levels(const Profile& profile, size_t kernel, const StallReport& stalls,
                                       const KernelFigures& figures);

std::string memory_levels_text(const std::vector<MemoryLevel>& levels);  // a table; empty: no levels
void write_memory_levels(JsonWriter& json, const std::vector<MemoryLevel>& levels);

}  // namespace tgc::profile
