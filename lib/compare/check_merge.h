// Merges several reports of `tgc check --json` into one report, for instance the reports of all shards.
#pragma once
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct MergedCheck {
  std::string json;  // the merged report, with the sums of the counts
  bool all_identical = false;
};

// Merges the reports in `files`. Fails if a file cannot be read or is not a report.
Result<MergedCheck> merge_checks(const std::vector<std::string>& files);

}  // namespace tgc
