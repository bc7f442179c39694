// The requests and bytes of a run at each level of the memory hierarchy, from its counters and thread traces.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/profile/stalls.h"
#include "lib/support/json_writer.h"

namespace tgc::profile {

struct MemoryLevel {
  std::string name;
  std::string request_unit;
  double num_requests = 0;
  // for local memory, the share of cycles without bank conflicts; nullopt: unknown
  std::optional<double> hit_rate;
  std::optional<double> num_bytes;
  bool is_upper_bound = false;
  std::string figure_source;    // names of counters, or "the trace"
};

// Returns the levels in order, from the waves to the device's memory, without those of which nothing is known.
std::vector<MemoryLevel> memory_levels(const Profile& profile, size_t run_index, const StallReport& stalls,
                                       const KernelFigures& figures);

std::string memory_levels_text(const std::vector<MemoryLevel>& levels);  // a table; "" without levels
void write_memory_levels(JsonWriter& json, const std::vector<MemoryLevel>& levels);

}  // namespace tgc::profile
