// `tgc conform`: tests another implementation of the compiler (a "port") stage by stage. For each recorded stage, the
// port gets tinygrad's graph before the stage (the reference's graph), and its answer is compared with the reference's
// graph after the stage. The next question starts from the reference's graph again, even if the answer was wrong.
//
// README.md describes the questions and answers, one line of JSON each. If a port crashes, hangs, or gives an invalid
// answer or unsolicited output, it fails at that question only: tgc restarts it for the next question.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "lib/diff/graph_diff.h"
#include "lib/driver/session.h"
#include "lib/text/graph_map.h"

namespace tgc {

// How answers are compared: as text, as graphs, or by the values that they compute in REF (the reference interpreter).
// Source code is always compared as text. Text also compares facts that pyrender omits, such as the dtype of a LOAD, if
// the answer has these facts and tgc can compute them for the reference's graph.
enum class ConformAs : uint8_t { Text, Structure, Values };
enum class AnswerVerdict : uint8_t { Same, Different, NotSupported, Error };
std::string_view name_of(AnswerVerdict verdict);  // "not supported"

struct ConformPlan {
  std::string command;
  ConformAs as = ConformAs::Text;
  std::string stage;    // the only stage to ask about, by tinygrad's name or an alias; empty: all stages
  GraphMap map;         // translates the JSON of answers to tinygrad's ops and dtypes
  DiffStyle style = {};
  size_t show = 3;      // how many differences to report in detail
  double seconds = 60;  // the time limit for an answer
};

struct ConformCounts {
  size_t same = 0, different = 0, not_supported = 0, errors = 0;
  std::string first;  // the first record for which the answer is wrong: "add.0 (CPU:CLANG)"
  size_t compared() const { return same + different + errors; }
  size_t asked() const { return compared() + not_supported; }
  size_t& of(AnswerVerdict verdict);
};

struct ConformReport {
  struct Answered {
    std::string id, target, stage;
    AnswerVerdict verdict;
    std::string key() const { return id + "\t" + target + "\t" + stage; }
  };

  std::vector<std::pair<std::string, ConformCounts>> stages;  // the counts of each stage, in the order of the questions
  std::vector<Answered> answers;                              // the answers, in the order of the questions
  std::vector<std::string> shown;                             // the texts of the first differences, in detail
  std::string ended;                                          // why the run ended early; empty if it did not

  // The comparison of a run with a baseline (the right answers of an older run): the answers that are wrong now, the
  // number of right answers that the baseline lacks, and the number of its entries that the run did not ask about.
  struct BaselineDiff {
    std::vector<std::string> worse;  // "add.0 (CPU:CLANG): expander is different now"
    size_t better = 0, not_asked = 0;
  };
  std::optional<BaselineDiff> baseline_diff;

  ConformCounts total() const;
  // Sets baseline_diff from a file that write_baseline wrote. Errors: the file does not exist or cannot be read.
  Status compare_to_baseline(const std::string& file);
  // Writes to a file which answers are right. Keeps the entries of an existing file that this run did not ask about.
  Status write_baseline(const std::string& file) const;
  // Returns the report as text, with terminal colors if `paint` is set.
  std::string text(bool paint = false) const;
  std::string json() const;
};

// Asks the port about every stage of the records in `goldens`, each FILE or FILE#ID. Errors: a file cannot be read; no
// such record or stage; the command cannot be started. The run ends early if the command fails ten times in a row.
Result<ConformReport> conform(const Session& session, const std::vector<std::string>& goldens, const ConformPlan& plan);

}  // namespace tgc
