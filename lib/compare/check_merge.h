// Merges several reports of `tgc check --json`, such as those of all shards, into one report.
#pragma once
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct MergedCheck {
  std::string json;  // with the sums of the counts
  bool all_identical = false;  // all records that were not skipped are identical, and there is at least one
};

// Fails if a file cannot be read, or does not contain exactly one report.
Result<MergedCheck> merge_checks(const std::vector<std::string>& files);

}  // namespace tgc
