// Fuzzing campaigns without libFuzzer: targets for some time, or mutants through all commands.
#pragma once
#include <string>
#include <vector>

#include "apps/fuzz/target.h"

namespace tgc::fuzz {

struct CampaignOptions {
  double seconds = 0;        // limit; 0: none. A target without both limits runs for ten seconds
  uint64_t runs = 0;         // maximum number of inputs; 0: no limit
  uint64_t seed = 1;
  int limit_seconds = 20;    // time limit per input
  std::string findings;      // folder for inputs that are findings; empty: findings are only printed
};

// Print the findings and return the number of distinct causes.
int run_target(const Target& target, const CampaignOptions& options);
int run_mutants(const CampaignOptions& options);

}  // namespace tgc::fuzz
