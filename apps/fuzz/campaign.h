// Runs fuzzing campaigns without libFuzzer: on one target, on mutated graphs, or on mutated rules.
#pragma once
#include <string>
#include <vector>

#include "apps/fuzz/target.h"

namespace tgc::fuzz {

struct CampaignOptions {
  // A limit of 0 is ignored. If both limits are 0, run_target() stops after ten seconds, and run_mutants() after 1000
  // mutants. run_rule_mutants() ignores the time limit and stops after `max_inputs` mutants, or after 300 if that is 0.
  double time_limit_seconds = 0;
  uint64_t max_inputs = 0;
  uint64_t seed = 1;
  int input_limit_seconds = 20;  // CPU time limit for one input; the limit on wall time is ten times as long
  std::string findings_folder;   // folder for inputs with findings; empty: findings are only printed
  // run_rule_mutants() takes only mutants whose rule name, source position or change contains one of these texts. If
  // the list is empty, it takes all mutants.
  std::vector<std::string> mutant_filters = {};
};

// Print the findings and return the number of their distinct causes.
int run_target(const FuzzTarget& target, const CampaignOptions& options);
int run_mutants(const CampaignOptions& options);
// Prints the verdict of each mutated rule. Returns 1 if less than 95 % of the mutants that are not proven equivalent to
// their rule are refuted, else 0.
int run_rule_mutants(const CampaignOptions& options);

}  // namespace tgc::fuzz
