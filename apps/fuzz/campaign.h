// Fuzzing campaigns without libFuzzer: run one target on mutated inputs, run mutated graphs through all commands, or
// prove mutated rules.
#pragma once
#include <string>
#include <vector>

#include "apps/fuzz/target.h"

namespace tgc::fuzz {

struct CampaignOptions {
  // run_rule_mutants() has no time limit. If time_limit_seconds and max_inputs are 0, run_target() stops after ten
  // seconds, run_mutants() after 1000 mutants, and run_rule_mutants() after 300.
  double time_limit_seconds = 0;  // time limit; 0: no limit
  uint64_t max_inputs = 0;        // maximum number of inputs; 0: no limit
  uint64_t seed = 1;
  int input_limit_seconds = 20;  // time limit per input
  std::string findings_folder;   // folder in which inputs with findings are saved; empty: findings are only printed
  // for run_rule_mutants(): prove only mutants whose line contains one of these texts; empty: all mutants
  std::vector<std::string> mutant_filters = {};
};

// run_target() and run_mutants() print the findings and return the number of their distinct causes. run_mutants()
// returns 1 if it cannot make its temporary folder.
int run_target(const FuzzTarget& target, const CampaignOptions& options);
int run_mutants(const CampaignOptions& options);
// Prints the verdict of each mutated rule. Returns 1 if less than 95 % of the mutants that are not equivalent to their
// rule are refuted, else 0.
int run_rule_mutants(const CampaignOptions& options);

}  // namespace tgc::fuzz
