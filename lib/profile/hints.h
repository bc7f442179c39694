// Hints how to make a kernel faster, from the traces and counters of a run. A hint has figures of these, and says why
// they cost time, how much time could be gained, and what to change.
#pragma once
#include <string>
#include <vector>

#include "lib/profile/report.h"
#include "lib/profile/stalls.h"

namespace tgc::profile {

struct Hint {
  std::string id;             // the kind of the hint, such as "bank-conflicts"
  double largest_share = 0;   // the largest share of the waves' time that could be saved, 0 to 1
  std::string measured_text;  // figures of the run, and why they cost time
  std::string advice_text;    // what to change in the kernel's opts or in the program
  std::string text() const;   // returns "up to 38% of the time: MEASURED: CHANGE"
};

// Returns the hints for the run `kernel`, those with the largest gain first. `listing` and `stalls` are the assembly
// and the stalls (stalls_of) of the run. The gains for an emulated run follow from the model of its stalls.
std::vector<Hint> hints(const Profile& profile, size_t kernel, const Listings::Listing& listing,
                        const StallReport& stalls);

}  // namespace tgc::profile
