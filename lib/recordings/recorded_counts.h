// Counts what the records of another release hold, for `tgc stats` and `tgc patterns`: the matches of each rule, which
// `tinygrad_export.py --rewrites` records, and the nodes of each op.
#pragma once
#include <map>
#include <string>

#include "lib/compilation/input_graph.h"
#include "lib/recordings/recorded_selection.h"

namespace tgc {

// The matches of one rule. A rule is named by its file and line in tinygrad, "uop/symbolic.py:113".
struct RecordedRule {
  size_t hits = 0;
  std::map<std::string, size_t> ops, stages;  // the hits by the op of the node that was rewritten, and by stage
};

class RecordedCounts {
 public:
  // Counts only in the stages that `stages` lists (an empty list: all) and only nodes of `ops` (an empty set: all).
  RecordedCounts(std::string stages, OpSet ops) : selection_(std::move(stages)), ops_(ops) {}

  Status add(const InputGraph& in);
  size_t records() const { return records_; }
  // Fails if a listed stage is in no record, or if `needs_rules` is true and a record has no rewrites.
  Status outcome(bool needs_rules) const;

  // The report of `tgc stats`: matches by rule, then nodes by op.
  std::string text() const;
  std::string json() const;
  // The report of `tgc patterns`: each rule with its hits, its ops and its stages.
  std::string rules_text() const;
  std::string rules_json() const;

 private:
  bool counts(UOp u) const { return ops_.empty() || u.in(ops_); }
  std::map<std::string, size_t> hits() const;

  RecordedSelection selection_;
  OpSet ops_;
  std::map<std::string, RecordedRule> rules_;
  std::map<std::string, size_t> nodes_;  // by op
  size_t records_ = 0, graphs_ = 0;
  std::string lacks_rewrites_;           // the first record without rewrites, as FILE#ID
};

// Returns the error for a record without rewrites. `file` is its file as FILE#ID.
Diag no_rewrites(const std::string& file);

}  // namespace tgc
