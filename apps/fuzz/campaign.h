// Fuzzing campaigns without libFuzzer: of one target, of mutated graphs, or of mutated rules.
#pragma once
#include <string>
#include <vector>

#include "apps/fuzz/target.h"

namespace tgc::fuzz {

struct CampaignOptions {
  // If both limits are 0, run_target() stops after ten seconds, run_mutants() after 1000 mutants, and
  // run_rule_mutants(), which has no time limit, after 300.
  double time_limit_seconds = 0;  // 0: no limit
  uint64_t max_inputs = 0;        // 0: no limit
  uint64_t seed = 1;
  int input_limit_seconds = 20;  // per input
  std::string findings_folder;   // for inputs with findings; empty: findings are only printed
  // for run_rule_mutants(): only mutants whose line contains one of these texts; empty: all mutants
  std::vector<std::string> mutant_filters = {};
};

// Print the findings and return the number of their distinct causes.
int run_target(const FuzzTarget& target, const CampaignOptions& options);
int run_mutants(const CampaignOptions& options);
// Prints the verdict of each mutated rule. Returns 1 if less than 95 % of the mutants that are not equivalent to their
// rule are refuted, else 0.
int run_rule_mutants(const CampaignOptions& options);

}  // namespace tgc::fuzz
