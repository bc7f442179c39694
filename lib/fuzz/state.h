// Writes the state of a campaign as JSON, and reads it from a file to continue the campaign.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/fuzz/fuzz.h"
#include "lib/fuzz/maker.h"

namespace tgc {

struct CampaignState {
  uint64_t next_graph_number = 0;                             // the first graph that was not started
  std::vector<uint64_t> unfinished_graph_numbers;       // those below `next_graph_number` that did not finish
  std::map<std::string, uint64_t> rule_counts;        // number of kernels and schedules in which the rule applied
  std::set<std::string> applied_rules;           // all rules that applied, also those that replaced no node
  std::vector<ParentGraph> rare_graphs;
  std::map<std::string, FuzzFinding> findings;   // findings with equal keys count as one
  FuzzReport report;
};

struct CampaignKey {
  uint64_t seed = 0;
  std::string golden_digest;

  bool operator==(const CampaignKey&) const = default;
};

std::string state_to_json(const CampaignState& state, const CampaignKey& of);
// Returns an empty state if the file does not exist. Fails if it has no state of the campaign `of`.
Result<CampaignState> read_fuzz_state(const std::string& path, const CampaignKey& of);

}  // namespace tgc
