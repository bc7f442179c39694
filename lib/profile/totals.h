// Sums up the timed events of a profile by device and name: kernels, copies and calls of the host.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "lib/profile/report.h"

namespace tgc::profile {

// The events of one name on one device.
struct Total {
  std::string device, name;
  double seconds = 0;
  size_t count = 0;
  std::optional<double> flops, bytes;  // of one execution
  bool is_copy = false;
  std::string arch;
};

// Returns the totals, the longest first. Only chosen runs give operations.
std::vector<Total> totals_of(const Profile& p, Listings& listings);

}  // namespace tgc::profile
