// `tgc conform`: tests another implementation of tinygrad's compiler (a "port") stage by stage. The port receives
// tinygrad's graph before a stage, and its answer is compared with tinygrad's graph after the stage. Questions and
// answers are one line of JSON each.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "lib/diff/graph_diff.h"
#include "lib/driver/session.h"
#include "lib/records/golden.h"
#include "lib/support/ci_report.h"
#include "lib/text/graph_map.h"

namespace tgc {

// How answers are compared: as text, as graphs, or by the values that they compute in REF. Sources are only compared as
// text.
enum class ConformComparison : uint8_t { Text, Structure, Values };
// Unchanged: with --as=values, the answer is the question's graph, and tinygrad changes nothing in the stage, either.
// NotSupported: the port lacks the stage. Error: the port failed, or the answer is an error or not comparable.
enum class AnswerVerdict : uint8_t { Same, Unchanged, Different, NotSupported, Error };
constexpr bool is_conforming(AnswerVerdict v) { return v == AnswerVerdict::Same || v == AnswerVerdict::Unchanged; }
std::string_view name_of(AnswerVerdict verdict);

struct ConformPlan {
  std::string command;  // the shell command that runs the port
  ConformComparison comparison = ConformComparison::Text;
  std::string stage;   // the only stage to ask about (a name, slug or alias); empty: all
  GraphMap graph_map;  // converts the JSON of answers to tinygrad's ops and dtypes
  DiffStyle diff_style = {};
  size_t max_differences = 3;           // differences to report in detail
  std::set<std::string> baseline = {};  // if not empty: report details only for these answers (AnswerRecord::key())
  double limit_seconds = 60;            // time limit for one answer
  bool keeps_differences = false;
};

struct ConformCounts {
  size_t num_same = 0, num_unchanged = 0, num_different = 0, num_not_supported = 0, num_errors = 0;
  std::string first_wrong_record;  // such as "add.0 (CPU:CLANG)"
  size_t num_compared() const { return num_same + num_different + num_errors; }
  size_t num_questions() const { return num_compared() + num_unchanged + num_not_supported; }
  size_t& count_of_verdict(AnswerVerdict verdict);
};

// Returns the keys of the answers that conformed, from a file of ConformReport::write_baseline(). Fails if the file
// cannot be read, or is no baseline of the comparison `as` (--as).
Result<std::set<std::string>> read_baseline(const std::string& file, const std::string& as);

struct ConformReport {
  struct AnswerRecord {
    std::string id, target, stage;
    AnswerVerdict verdict;
    std::string file;             // the recording
    uint32_t line = 0;            // line of the record in `file`
    std::string difference = {};  // the difference or the error; empty unless ConformPlan::keeps_differences
    std::string key() const { return id + "\t" + target + "\t" + stage; }  // identifies the question in a baseline
  };

  std::vector<std::pair<std::string, ConformCounts>> stage_counts;  // in the order of the questions
  std::vector<AnswerRecord> answers;                                // in the order of the questions
  std::vector<std::string> shown_differences;
  std::string comparison_name = "text";                             // the value of --as
  std::string end_reason;                                           // why the run ended early; empty if it did not
  struct BaselineDiff {
    // such as "add.0 (CPU:CLANG): expander is different now"
    std::vector<std::string> worse_answers;
    size_t num_better = 0;               // right answers that the baseline does not have
    size_t num_not_asked = 0;            // entries of the baseline about which this run did not ask
  };
  std::optional<BaselineDiff> baseline_diff;

  ConformCounts total_counts() const;
  // Sets baseline_diff. Fails if `file` does not exist, is no baseline of this comparison, or is empty.
  Status compare_to_baseline(const std::string& file);
  // Writes the answers that conform to a file, and keeps entries of the existing file that this run did not ask about.
  // Fails if there is no entry, if the existing file is no baseline of this comparison, or if it cannot be written.
  Status write_baseline(const std::string& file) const;
  std::string text(bool paint = false) const;
  std::string json() const;
  // Has a case for each answer. Skipped are stages that the port does not support and, if `baseline` is not empty,
  // wrong answers that `baseline` does not list.
  CiReport ci(const std::set<std::string>& baseline) const;
};

// Asks the port about the stages of the records in `goldens` (each is FILE or FILE#ID). Fails if an input cannot be
// read, or has no such record, or if no record has the stage. Ends early, with ConformReport::end_reason, after several
// failures of the port in a row, or if the session is cancelled.
Result<ConformReport> run_conformance(const Session& session, const std::vector<std::string>& goldens,
                                      const ConformPlan& plan);

// A question to the port about one stage of a record. The stage `linear` makes a linear list, and `source` makes source
// code from the list.
struct StageQuestion {
  enum class ExpectedKind : uint8_t { Graph, List, Source };

  std::string stage;
  std::string before_text;      // the graph or list before the stage, in any format
  std::string_view expected_text;  // refers to text in the record
  ExpectedKind expected_kind = ExpectedKind::Graph;
  std::string expected_json = {};  // the expected graph with facts that pyrender omits; empty if unknown
};

// Returns the questions about `r`, which must outlive them. Pyrender texts lack facts such as the dtype of a LOAD, so
// tgc compiles records of 0.12.0 again, and uses its own graphs as long as these print like the recorded ones. A source
// is only asked for if `with_source` is set.
std::vector<StageQuestion> questions_of_record(const GoldenRecord& r, const GoldenHeader& header, bool with_source);

}  // namespace tgc
