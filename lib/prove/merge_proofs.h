// merge_proofs: merges the reports of all shards (`tgc prove --shard=K/N --json`) into one report.
#pragma once
#include <string>
#include <vector>

#include "lib/driver/failure_collector.h"
#include "lib/support/result.h"

namespace tgc {

struct MergedProofs {
  std::string json;         // the merged report: a line for each kernel, or one object for all rules
  bool is_refuted = false;
};

// Returns the last line of the report of a shard, by which merge_proofs() sees that the report is complete.
std::string shard_end_line(const Shard& shard);

// Merges the reports in `files`. Fails if a file is no complete report, if a shard is missing, or if some reports are
// of kernels and some of rules.
Result<MergedProofs> merge_proofs(const std::vector<std::string>& files);

}  // namespace tgc
