// Saves the state of a campaign in a file, so that a campaign that was stopped or crashed can continue: its findings,
// and the rules that applied and the graphs kept so far, because later graphs depend on them.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/fuzz/fuzz.h"
#include "lib/fuzz/maker.h"

namespace tgc {

struct CampaignState {
  uint64_t next = 0;                             // number of the first graph that has not begun
  std::vector<uint64_t> unfinished;              // numbers of earlier graphs that began but did not finish
  std::map<std::string, uint64_t> counts;        // by rule: number of graphs in which it applied
  std::set<std::string> applied_rules;           // rules that applied, including rules that make no node
  std::vector<Ancestor> rare;                    // graphs in which rare rules applied, in order
  std::map<std::string, FuzzFinding> findings;   // by key: findings with equal keys count as one
  FuzzReport so_far;                             // the campaign's counts and seconds so far
};

// Identifies a campaign by its seed and its golden files (FuzzSpec::grow).
struct CampaignName {
  uint64_t seed = 0;
  std::string goldens;  // Maker::goldens()

  bool operator==(const CampaignName&) const = default;
};

std::string state_to_json(const CampaignState& state, const CampaignName& of);
// Reads a state. If there is no such file, returns the state of a campaign that has not begun. An error: the file is
// not a state, or is the state of another campaign.
Result<CampaignState> read_state(const std::string& path, const CampaignName& of);

}  // namespace tgc
