// `tgc conform`: tests another implementation of the compiler (a "port") stage by stage. For each recorded stage, the
// port gets tinygrad's graph before the stage, and its answer is compared with tinygrad's graph after the stage. The
// next question starts from tinygrad's graph again, even if the answer was wrong.
//
// README.md describes the questions and answers, one line of JSON each. If a port crashes, exceeds the time limit, or
// writes invalid or unsolicited output, only this question fails: tgc restarts the port for the next question.
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

// How answers are compared: as text, as graphs, or by the values that they compute in REF. Sources are always compared
// as text. Text includes facts that pyrender omits, such as the dtype of a LOAD, if the answer has them and tgc can
// compute them for tinygrad's graph.
enum class ConformAs : uint8_t { Text, Structure, Values };
// Verdict on an answer. Unchanged: with --as=values, a right answer for a stage in which tinygrad changes nothing. Such
// an answer says nothing about the port, because the question's own graph is right.
enum class AnswerVerdict : uint8_t { Same, Unchanged, Different, NotSupported, Error };
constexpr bool conforms(AnswerVerdict v) { return v == AnswerVerdict::Same || v == AnswerVerdict::Unchanged; }
std::string_view name_of(AnswerVerdict verdict);  // returns a text such as "not supported"

struct ConformPlan {
  std::string command;
  ConformAs as = ConformAs::Text;
  std::string stage;    // the only stage to ask about (a name or alias); empty: all
  GraphMap map;         // converts the JSON of answers to tinygrad's ops and dtypes
  DiffStyle style = {};
  size_t show = 3;      // number of differences to report in detail
  std::set<std::string> baseline = {};  // report only differences of these answers in detail; empty: of all
  double seconds = 60;  // time limit for one answer
  bool keeps_differences = false;  // keep the text of each difference (Answered::difference)
};

struct ConformCounts {
  size_t same = 0, unchanged = 0, different = 0, not_supported = 0, errors = 0;
  std::string first;  // the first record with a wrong answer, "add.0 (CPU:CLANG)"
  size_t compared() const { return same + different + errors; }
  size_t asked() const { return compared() + unchanged + not_supported; }
  size_t& of(AnswerVerdict verdict);
};

// Reads a baseline, a file that ConformReport::write_baseline() wrote: the keys of the answers that conformed. Fails if
// it was written with another comparison than `as` (--as).
Result<std::set<std::string>> read_baseline(const std::string& file, const std::string& as);

struct ConformReport {
  struct Answered {
    std::string id, target, stage;
    AnswerVerdict verdict;
    std::string file;             // the recording
    uint32_t line = 0;            // the record's line in `file`
    std::string difference = {};  // how the answer differs, if ConformPlan::keeps_differences is set
    std::string key() const { return id + "\t" + target + "\t" + stage; }
  };

  std::vector<std::pair<std::string, ConformCounts>> stages;  // counts by stage, in the order of the questions
  std::vector<Answered> answers;                              // answers, in the order of the questions
  std::vector<std::string> shown;                             // the first differences in detail, as text
  std::string as = "text";                                    // the comparison, as --as names it
  std::string ended;                                          // why the run ended early; empty: it did not

  // Differences from a baseline, a list of the right answers of an older run. `worse` lists answers that are now wrong.
  // `better` counts right answers that the baseline lacks; `not_asked` counts its entries that were not asked about.
  struct BaselineDiff {
    std::vector<std::string> worse;  // for example "add.0 (CPU:CLANG): expander is different now"
    size_t better = 0, not_asked = 0;
  };
  std::optional<BaselineDiff> baseline_diff;

  ConformCounts total() const;
  // Sets baseline_diff from a file that write_baseline() wrote. Fails if the file does not exist or cannot be read.
  Status compare_to_baseline(const std::string& file);
  // Writes the right answers to a file. Keeps entries of the existing file that this run did not ask about.
  Status write_baseline(const std::string& file) const;
  // Returns the report as text; with terminal colors if `paint` is set.
  std::string text(bool paint = false) const;
  std::string json() const;
  // Returns a case for each answer. With a baseline, answers that are wrong in it, too, are skipped.
  CiReport ci(const std::set<std::string>& baseline) const;
};

// Asks the port about every stage of the records in `goldens` (each is FILE or FILE#ID). Fails if a file, record or
// stage does not exist, or the command cannot start. Ends early after ten failures of the port in a row, or three
// before its first valid answer.
Result<ConformReport> conform(const Session& session, const std::vector<std::string>& goldens, const ConformPlan& plan);

// The questions of `tgc conform` about a record: one for each stage, with the graph before the stage.

// A question to the port. `linear` and `source` rewrite no graph: they make a list of it, and source of the list.
struct Question {
  enum class After : uint8_t { Graph, List, Source };

  std::string stage;
  std::string before;      // the graph or list before the stage, in any format
  std::string_view after;  // the expected result; refers to text in the record
  After kind = After::Graph;
  std::string after_json = {};  // a text of the expected graph with facts that pyrender omits; empty: unknown
};

// Returns the questions about a record, which must outlive them. Recorded pyrender texts lack facts such as the dtype
// of a LOAD. tgc therefore compiles records of 0.12.0 again and uses its own graphs, which have all facts, as long as
// these print like the recorded graphs. A record with a list has a question `linear` and, if `with_source` is set and
// the record has a source, `source`.
std::vector<Question> questions_of(const GoldenRecord& r, const GoldenHeader& header, bool with_source);

}  // namespace tgc
