// merge_proofs: merges reports of `tgc prove --json`, such as those of all shards, into one report.
#pragma once
#include <string>
#include <vector>

#include "lib/support/result.h"

namespace tgc {

struct MergedProofs {
  std::string json;         // the merged report: a line for each kernel, or one object for all rules
  bool is_refuted = false;  // a kernel or a rule is refuted
};

// Merges the reports in `files`, which are all of kernels or all of rules. If the files are those of the shards 1/N,
// 2/N, ... in this order, the kernels or rules have the order of a run without shards. Fails if a file cannot be read
// or is not such a report.
Result<MergedProofs> merge_proofs(const std::vector<std::string>& files);

}  // namespace tgc
