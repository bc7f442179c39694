// Saves a campaign in a file, so that a campaign that was stopped or crashed can continue. The file holds the findings,
// the rules that applied, and the graphs that later graphs may be made from.
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
  std::vector<uint64_t> unfinished;              // numbers of lower graphs that did not finish
  std::map<std::string, uint64_t> counts;        // by rule: number of graphs in which the rule applied
  std::set<std::string> applied_rules;           // the rules that applied, including rules that make no node
  std::vector<Ancestor> rare;  // graphs in which rare rules applied, in the order in which they were found
  std::map<std::string, FuzzFinding> findings;   // by key: findings with equal keys count as one
  FuzzReport so_far;                             // the counts and seconds of the campaign so far
};

// Identifies a campaign by its seed and golden files (FuzzSpec::grow).
struct CampaignName {
  uint64_t seed = 0;
  std::string goldens;  // digest of the golden files, see Maker::goldens()

  bool operator==(const CampaignName&) const = default;
};

std::string state_to_json(const CampaignState& state, const CampaignName& of);
// Reads the state of the campaign `of`. If the file does not exist, returns the state of a campaign that has not begun.
// Fails if the file is no state file, or has the state of another campaign.
Result<CampaignState> read_state(const std::string& path, const CampaignName& of);

}  // namespace tgc
