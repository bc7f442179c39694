// Where a campaign is, as a file keeps it, so that one that was stopped, or has died, goes on: what it has seen, which
// the graphs that follow are made of, and what it has found.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/fuzz/fuzz.h"
#include "lib/fuzz/maker.h"

namespace tgc {

struct CampaignState {
  uint64_t next = 0;                    // the first graph that nobody has begun
  std::vector<uint64_t> unfinished;     // of those before it, the ones that were in work
  std::map<std::string, uint64_t> counts;  // of rules: graphs that they applied in
  std::set<std::string> noted;          // rules that applied, those that make no node, too
  std::vector<Ancestor> rare;           // graphs that hit what few hit, in the order in which they came
  std::map<std::string, FuzzFinding> findings;  // by what they are counted under
  FuzzReport so_far;                    // its counts and its seconds
};

// What makes a campaign's graphs, beside what it has seen: its seed, and the golden files that it grows from.
struct CampaignName {
  uint64_t seed = 0;
  std::string goldens;  // Maker::goldens()

  bool operator==(const CampaignName&) const = default;
};

std::string state_to_json(const CampaignState& state, const CampaignName& of);
// The state that the file keeps; where there is no such file, that of a campaign that has not begun. An error: the file
// keeps another campaign's, or is none.
Result<CampaignState> read_state(const std::string& path, const CampaignName& of);

}  // namespace tgc
