// Merges several reports of `tgc check --json`, of shards or of files.
#pragma once
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct MergedCheck {
  std::string json;  // a report like theirs, with the sum of each count
  bool all_identical = false;
};

// Errors: a file cannot be read or is not a report.
Result<MergedCheck> merge_checks(const std::vector<std::string>& files);

}  // namespace tgc
