// merge_proofs: merges the reports of all shards (`tgc prove --shard=K/N --json`) into one report.
#pragma once
#include <string>
#include <vector>

#include "lib/driver/failure_collector.h"
#include "lib/support/result.h"

namespace tgc {

struct MergedProofs {
  std::string json;         // the merged report: a line for each kernel, or one object for all rules
  bool is_refuted = false;  // a kernel or a rule is refuted
};

// Returns the last line of a report of a shard. A report without this line is of a run that was stopped.
std::string end_of_shard(const Shard& shard);

// Merges the reports in `files`, which are all of kernels or all of rules. If the files are those of the shards 1/N,
// 2/N, ... in this order, the kernels or rules have the order of a run without shards. Fails if a file cannot be read,
// is no such report or lacks the line of end_of_shard(), or if a shard is missing.
Result<MergedProofs> merge_proofs(const std::vector<std::string>& files);

}  // namespace tgc
