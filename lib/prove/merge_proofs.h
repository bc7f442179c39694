// Merges reports of `tgc prove --json`, for instance those of all shards, into the report of the whole.
#pragma once
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct MergedProofs {
  std::string json;  // a line for each kernel, or one object for all rules
  bool is_refuted = false;  // whether a kernel or a rule is refuted
};

// Merges the reports in `files`, which are all of kernels or all of rules. The kernels or rules of shards in the order
// 1/N, 2/N, ... come out in the order of the whole. Fails if a file cannot be read or is not such a report.
Result<MergedProofs> merge_proofs(const std::vector<std::string>& files);

}  // namespace tgc
