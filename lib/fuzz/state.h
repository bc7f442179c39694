// Saves a campaign in a file, so that it can continue after it was stopped or crashed.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/fuzz/fuzz.h"
#include "lib/fuzz/maker.h"

namespace tgc {

struct CampaignState {
  uint64_t next_graph = 0;                             // number of the first graph that was not started
  std::vector<uint64_t> unfinished_graphs;              // numbers of graphs below `next_graph` that did not finish
  std::map<std::string, uint64_t> rule_counts;        // maps a rule to the number of graphs in which it applied
  std::set<std::string> applied_rules;           // the rules that applied, also those that made no node
  std::vector<Ancestor> rare_graphs;  // graphs in which rare rules applied, in the order in which they were found
  std::map<std::string, FuzzFinding> findings;   // maps a key to its finding; findings with equal keys count as one
  FuzzReport report;                             // the counts and seconds of the campaign so far
};

// Identifies a campaign by its seed and golden files (FuzzSpec::golden_files).
struct CampaignName {
  uint64_t seed = 0;
  std::string golden_digest;  // digest of the golden files, see GraphMaker::golden_digest()

  bool operator==(const CampaignName&) const = default;
};

std::string state_to_json(const CampaignState& state, const CampaignName& of);
// Reads the state of the campaign `of`. If the file does not exist, returns the state of a campaign that has not begun.
// Returns an error if the file is not a state file, or has the state of another campaign.
Result<CampaignState> read_state(const std::string& path, const CampaignName& of);

}  // namespace tgc
