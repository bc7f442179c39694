// Two recordings of what a program compiles, before a change of tinygrad and after it: which kernels and schedules are
// the same, and of each that is not the first stage that differs, what differs there, and the rule that did it. Kernels
// are aligned by what they are before they are by their number, so that one more or less shifts nothing. Recordings
// may be of different releases; each is read twice and never held as a whole.
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
  std::string renames;  // a file of renames; empty: those between the two releases; "none"
  bool sources_only = false;  // the stages are not looked at
  bool json = false;  // each difference is wanted as JSON, not as text
};

struct ReplayPair {
  std::string id_a, id_b, target, name;
  bool same = false;
  std::string stage;  // the first that differs
  bool same_source = false;  // though a stage differs
  // that made the difference, where it is known: "uop/symbolic.py:217"; "A -> B" where another one matched instead
  std::string rule;
  std::map<std::string, size_t> ops;  // of the nodes that differ there
  std::map<std::string, size_t> causes;  // what is different about them: "EXPAND removed", "STACK: dtype A -> B"
  std::string detail;  // the difference for people, or as JSON
};

struct ReplayDiff {
  std::string producer_a, producer_b;
  size_t same = 0, different = 0, only_a = 0, only_b = 0;
  size_t same_source() const;  // of the different ones
  std::vector<std::string> names_only_a, names_only_b;
  std::vector<ReplayPair> pairs;  // those that differ, in A's order

  bool is_same() const { return !different && !only_a && !only_b; }
  std::string text(size_t show) const;
  // {"kernels":{...},"first_difference":{...},"list":[...]} and the counts by op and by rule
  std::string json() const;
};

// Whether both are files of golden records: names of one record, FILE#ID, too, unless both are of 0.12.0, whose runs
// tgc can make itself (run_diff.h).
bool are_recordings(const std::string& a, const std::string& b);

// `a` and `b` are files, or FILE#ID. A file that is cut is a warning. Errors: what cannot be read; recordings with
// nothing to compare.
Result<ReplayDiff> diff_recordings(const Session& session, const std::string& a, const std::string& b,
                                   const ReplayDiffPlan& plan);

}  // namespace tgc
