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

// Returns the last line of the report of a shard. If a report lacks this line, its run was stopped before the end.
std::string end_of_shard(const Shard& shard);

// Merges the reports in `files`. If the files are those of the shards 1/N, 2/N, ... in this order, the kernels or rules
// have the order of a run without shards. Fails if a file cannot be read, is no such report or lacks the line of
// end_of_shard(), if a shard is missing, or if some reports are of kernels and some of rules.
Result<MergedProofs> merge_proofs(const std::vector<std::string>& files);

}  // namespace tgc
