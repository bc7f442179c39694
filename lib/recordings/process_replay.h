// Process replay: compares two recordings of one program, made before and after a change of tinygrad. Counts the
// kernels and schedules that are the same. For each pair that differs, finds the first stage that differs, what differs
// there, and the responsible rule. Records are paired by content before position, so that an additional kernel does not
// shift the later pairs. The recordings may be of different releases. A file is read twice, one record at a time.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/diff/graph_diff.h"
#include "lib/diff/renames.h"
#include "lib/driver/session.h"

namespace tgc {

struct ReplayDiffPlan {
  DiffOptions options = {};
  DiffStyle style = {};
  std::string renames;        // a file of renames (renames.h) or "none"; empty: the renames between the two releases
  bool sources_only = false;  // do not compare the stages
  bool json = false;          // write the differences as JSON instead of text
};

struct ReplayPair {
  std::string id_a, id_b, target, name;
  bool same = false;
  std::string stage;         // the first stage whose results differ
  bool same_source = false;  // the kernels' sources are the same although a stage differs
  // the responsible rule, if known: "uop/symbolic.py:217", or "A -> B" if rule B matched in place of rule A
  std::string rule;
  std::map<std::string, size_t> ops;     // counts of the nodes that differ, by op
  std::map<std::string, size_t> causes;  // the kinds of difference: "EXPAND removed", "STACK: dtype A -> B"
  std::string detail;                    // the difference as text or JSON
};

struct ReplayDiff {
  std::string producer_a, producer_b;
  size_t same = 0, different = 0, only_a = 0, only_b = 0;
  size_t same_source() const;  // number of differing pairs whose sources are the same
  std::vector<std::string> names_only_a, names_only_b;
  std::vector<ReplayPair> pairs;  // the pairs that differ, in the order of recording A

  bool is_same() const { return !different && !only_a && !only_b; }
  std::string text(size_t show) const;
  // Returns {"kernels":{...},"first_difference":{...},"list":[...]} and the counts by op, rule and cause.
  std::string json() const;
};

// Returns whether the inputs are golden records that process replay should compare. FILE#ID is accepted only if a
// recording is of another release than 0.12.0, because run_diff.h compares two records of 0.12.0 in more detail.
bool are_recordings(const std::string& a, const std::string& b);

// Compares two recordings, each FILE or FILE#ID. Warns about a truncated file. Errors: a file cannot be read; the
// recordings have no record in common.
Result<ReplayDiff> diff_recordings(const Session& session, const std::string& a, const std::string& b,
                                   const ReplayDiffPlan& plan);

}  // namespace tgc
