// What tgc_fuzz does without libFuzzer: each target for a while, or a number of mutants through everything.
#pragma once
#include <string>
#include <vector>

#include "apps/fuzz/target.h"

namespace tgc::fuzz {

struct CampaignOptions {
  double seconds = 10;       // of a target
  uint64_t runs = 0;         // of mutants, or of a target instead of seconds
  uint64_t seed = 1;
  int limit_seconds = 20;    // of one input
  std::string findings;      // a folder for inputs that are findings; empty: they are told alone
};

// How many findings of different causes there were; each is told.
int run_target(const Target& target, const CampaignOptions& options);
int run_mutants(const CampaignOptions& options);

}  // namespace tgc::fuzz
