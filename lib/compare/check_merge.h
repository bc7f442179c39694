#pragma once
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct MergedCheck {
  std::string json;
  bool are_all_identical = false;  // all records that were not skipped are identical, and there is at least one
};

// Fails if a file cannot be read, or does not contain exactly one report.
Result<MergedCheck> merge_checks(const std::vector<std::string>& files);

}  // namespace tgc
