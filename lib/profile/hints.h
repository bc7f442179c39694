// Hints how to make a kernel faster, from the traces and counters of a run.
#pragma once
#include <string>
#include <vector>

#include "lib/profile/report.h"
#include "lib/profile/stalls.h"

namespace tgc::profile {

struct SpeedHint {
  std::string id;
  double max_time_share = 0;  // largest share of the waves' time that a change can save, 0 to 1
  std::string measured_text;  // figures, and why they cost time
  std::string advice_text;
  std::string text() const;  // "up to 38% of the time: MEASURED: CHANGE"
};

// Returns the hints for the run `run_index`, the largest gain first. `stalls` is the result of stalls_of_run() for this
// run.
std::vector<SpeedHint> speed_hints(const Profile& profile, size_t run_index, const ProgramListings::Listing& listing,
                                   const StallReport& stalls);

}  // namespace tgc::profile
