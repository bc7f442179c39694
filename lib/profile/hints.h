// Advice about a run of a kernel. Each hint has figures of this trace, says why they cost time, how much time could be
// gained, and what to change.
#pragma once
#include <string>
#include <vector>

#include "lib/profile/report.h"
#include "lib/profile/stalls.h"

namespace tgc::profile {

struct Hint {
  std::string id;        // "bank-conflicts": the kind of the hint
  double gain = 0;       // share of the waves' time that could go at most, 0 to 1
  std::string measured;  // figures of this trace, and why they cost time
  std::string change;    // to the kernel's opts or to the program
  std::string text() const;  // "up to 38 %: MEASURED: CHANGE"
};

// Returns the hints, those with the largest gain first. `stalls` is stalls_of() the run. Of an emulated run, the gains
// follow from the model of its stalls.
std::vector<Hint> hints(const Profile& profile, size_t kernel, const Listings::Listing& listing,
                        const StallReport& stalls);

}  // namespace tgc::profile
