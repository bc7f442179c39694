// Checks whether a thread trace is consistent. A damaged trace can be decoded without an error.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/profile/instruction_role.h"
#include "lib/profile/profile.h"
#include "lib/profile/report.h"

namespace tgc::profile {

// Returns what is wrong with a run's traces, each with its shader engine: waves that begin twice, that end without a
// begin or not at s_endpgm, times that go back, and packets of another unit than their instruction's. What the trace
// lost at its begin or end is no damage.
std::vector<std::string> check_traces(const Profile& profile, size_t kernel, const Listings::Listing& listing);

}  // namespace tgc::profile
