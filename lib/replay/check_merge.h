// Several reports of `tgc check --json`, of shards or of files, as one.
#pragma once
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct MergedCheck {
  std::string json;  // as check writes it: every count the sum of theirs
  bool all_identical = false;
};

// An error: a file that cannot be read or is no report.
Result<MergedCheck> merge_checks(const std::vector<std::string>& files);

}  // namespace tgc
