// Saves the state of a campaign in a file, so that a campaign that was stopped or crashed can continue: its findings,
// and the rules and graphs so far, because later graphs depend on them.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/fuzz/fuzz.h"
#include "lib/fuzz/maker.h"

namespace tgc {

struct CampaignState {
  uint64_t next = 0;                             // number of the first graph that was not begun
  std::vector<uint64_t> unfinished;              // numbers of earlier graphs that were begun but not finished
  std::map<std::string, uint64_t> counts;        // by rule: number of graphs that the rule applied in
  std::set<std::string> applied_rules;           // rules that applied, also those that make no node
  std::vector<Ancestor> rare;                    // graphs that hit rare rules, in order
  std::map<std::string, FuzzFinding> findings;   // by key: findings with equal keys count as one
  FuzzReport so_far;                             // the counts and seconds of the campaign so far
};

// Identifies a campaign: its seed and the golden files that it grows from.
struct CampaignName {
  uint64_t seed = 0;
  std::string goldens;  // Maker::goldens()

  bool operator==(const CampaignName&) const = default;
};

std::string state_to_json(const CampaignState& state, const CampaignName& of);
// Reads a state; if there is no such file, returns the state of a campaign that has not begun. An error: the file is of
// another campaign, or no state.
Result<CampaignState> read_state(const std::string& path, const CampaignName& of);

}  // namespace tgc
