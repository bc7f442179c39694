// Finds damage in traces that are decoded without an error.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "lib/profile/instruction_role.h"
#include "lib/profile/profile.h"
#include "lib/profile/report.h"

namespace tgc::profile {

// Returns what is inconsistent in a run's traces, such as waves without an end and times that go back.
std::vector<std::string> check_traces(const Profile& profile, size_t run_index,
                                      const ProgramListings::Listing& listing);

}  // namespace tgc::profile
