// Finds damaged traces, which are decoded without an error.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/profile/instruction_role.h"
#include "lib/profile/profile.h"
#include "lib/profile/report.h"

namespace tgc::profile {

// Returns what is inconsistent in a run's traces: waves without a begin or an end, waves that end elsewhere than at
// s_endpgm, times that go back, and packets of another unit than their instruction's.
std::vector<std::string> check_traces(const Profile& profile, size_t kernel, const Listings::Listing& listing);

}  // namespace tgc::profile
