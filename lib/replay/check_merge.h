// Merges reports of `tgc check --json`, for instance those of all shards, into one report.
#pragma once
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct MergedCheck {
  std::string json;  // the merged report in the format of `tgc check --json`, with the sum of each count
  bool all_identical = false;
};

// Merges the reports in `files`. Errors: a file cannot be read or is not a report.
Result<MergedCheck> merge_checks(const std::vector<std::string>& files);

}  // namespace tgc
