// Process replay: compares two recordings of one program, made before and after a change of tinygrad. For each
// differing pair, finds the first stage that differs, the difference and, if both recordings have rewrites and the same
// producer, the responsible rule. Pairs records by content first, so that a new kernel does not shift the pairs. The
// recordings may be of different releases.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "lib/diff/graph_diff.h"
#include "lib/diff/renames.h"
#include "lib/driver/session.h"
#include "lib/records/golden.h"
#include "lib/support/ci_report.h"
#include "lib/uop/graph.h"

namespace tgc {

struct ReplayDiffPlan {
  DiffOptions options = {};
  DiffStyle diff_style = {};
  std::string renames_file;   // --renames: a file (renames.h) or "none"; empty: the built-in renames.def
  bool skips_stages = false;
  bool as_json = false;       // ReplayPair::difference_text is JSON
};

struct ReplayPair {
  std::string id_a, id_b, target, name;
  bool is_same = false;
  std::string stage;            // the first stage whose results differ, or "source"
  bool has_same_source = false;  // the sources are equal although a stage differs
  // The rule that caused the difference, such as "uop/symbolic.py:217", or the name of tgc's own rule; "A -> B" if rule
  // B matched in place of rule A. Empty if unknown.
  std::string rule;
  std::string first_match_rule;          // if `rule` is empty: the rule of the first match that differs; may be empty
  std::map<std::string, size_t> op_counts;     // nodes that differ, by op
  std::map<std::string, size_t> cause_counts;  // such as "EXPAND removed", "STACK: dtype A -> B"
  // text or, with ReplayDiffPlan::as_json, a JSON member: "diff":{...}; for sources "lines":"..."
  std::string difference_text;
};

struct ReplayDiff {
  std::string producer_a, producer_b;
  size_t num_same = 0, num_different = 0, num_only_in_a = 0, num_only_in_b = 0;
  size_t num_same_sources() const;  // of differing pairs with equal sources
  std::vector<std::string> same_names, names_only_in_a, names_only_in_b;
  std::vector<ReplayPair> differing_pairs;

  bool is_same() const { return !num_different && !num_only_in_a && !num_only_in_b; }
  std::string text(size_t show) const;
  std::string as_json() const;
  // Returns a report with a case for each kernel or schedule. The file and line of a failure are those of the rule in
  // tinygrad's source tree. If the rule's location is unknown, the file is `file`, without a line.
  CiReport ci(const std::string& file) const;
};

// Returns true if process replay should compare these inputs. Both must be recordings in files, not on standard input.
// If either is FILE#ID, at least one must be of another release than 0.12.0, because run_diff.h compares single records
// of 0.12.0 in more detail.
bool are_recordings(const std::string& a, const std::string& b);

// Compares two recordings, each given as FILE or FILE#ID. Fails if a file or a record cannot be read or compared, if
// one recording is of kernels and the other of schedules, if they have no record in common, or if the session is
// cancelled.
Result<ReplayDiff> diff_recordings(const Session& session, const std::string& a, const std::string& b,
                                   const ReplayDiffPlan& plan);

struct ReplayCulprit {
  std::string rule;
  std::string first_match_rule;  // if `rule` is empty: the rule of the first match that differs; may be empty
};
// Finds the culprit in the recorded rule matches of both records. `stage` is the first stage whose results differ;
// `result_a` and `result_b` are its results, in one Graph. The culprit is a rule that matched in one recording only or,
// if there is none, a rule that rewrote the same node differently. Skips matches whose location is in uop/ops.py, such
// as substitutions for other rules.
ReplayCulprit find_culprit(const GoldenRecord& a, const GoldenRecord& b, const std::string& producer,
                           const std::string& stage, UOp result_a, UOp result_b);

}  // namespace tgc
