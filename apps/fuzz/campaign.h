// What tgc_fuzz does without libFuzzer: each target for a while, or a number of mutants through everything.
#pragma once
#include <string>
#include <vector>

#include "apps/fuzz/target.h"

namespace tgc::fuzz {

struct CampaignOptions {
  double seconds = 0;        // at most, 0: no limit; a target that has neither seconds nor runs takes ten
  uint64_t runs = 0;         // inputs at most, 0: no limit
  uint64_t seed = 1;
  int limit_seconds = 20;    // of one input
  std::string findings;      // a folder for inputs that are findings; empty: they are told alone
};

// How many findings of different causes there were; each is told.
int run_target(const Target& target, const CampaignOptions& options);
int run_mutants(const CampaignOptions& options);

}  // namespace tgc::fuzz
