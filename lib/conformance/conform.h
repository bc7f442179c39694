// A port of the compiler, judged stage by stage: a program is asked what it makes of the graph that the reference had
// before a stage, and its answer is compared with what the reference had after it. Each stage is judged on its own: the
// next one is asked of the reference's graph, whatever the answer was.
//
// A question is a line of JSON, an answer too (README.md):
//   {"id":"add.0","stage":"expander","target":"CPU:CLANG","settings":{"NOOPT":"1"},"graph":{"format":"tgc-graph",...}}
//   {"graph":"..."} a text that tgc reads, or an object of tgc's JSON; {"not_supported":true}; {"error":"..."}
// Of kernels recorded with 0.12.0 the last two are `linear`, whose answer is a list (a listing of print_uops, or JSON
// with a "list"), and `source`, asked of the list and answered by {"source":"..."}.
//
// A program that dies, hangs, answers what is no answer or says more than it was asked has failed at that question
// alone: it is started anew for the next one, so that nothing late is taken for another question's answer.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "lib/diff/graph_diff.h"
#include "lib/driver/session.h"
#include "lib/text/graph_map.h"

namespace tgc {

// To the letter, but for names, by what it computes; a source is asked for to the letter alone. An answer that says
// more than tinygrad's letters, such as the dtype of a LOAD, is held to that too, where the pipeline here knows it.
enum class ConformAs : uint8_t { Text, Structure, Values };
enum class AnswerVerdict : uint8_t { Same, Different, NotSupported, Error };
std::string_view name_of(AnswerVerdict verdict);  // "not supported"

struct ConformPlan {
  std::string command;
  ConformAs as = ConformAs::Text;
  std::string stage;  // that one alone, by any of its names; empty: all
  GraphMap map;  // of the answers' JSON
  DiffStyle style = {};
  size_t show = 3;  // first differences, in detail
  double seconds = 60;  // for an answer
};

struct ConformCounts {
  size_t same = 0, different = 0, not_supported = 0, errors = 0;
  std::string first;  // where it first did not conform: "add.0 (CPU:CLANG)"
  size_t judged() const { return same + different + errors; }
  size_t asked() const { return judged() + not_supported; }
  size_t& of(AnswerVerdict verdict);
};

struct ConformReport {
  struct Answered {
    std::string id, target, stage;
    AnswerVerdict verdict;
    std::string key() const { return id + "\t" + target + "\t" + stage; }
  };

  std::vector<std::pair<std::string, ConformCounts>> stages;  // in the order in which they were first asked
  std::vector<Answered> answers;  // in the order of the questions
  std::vector<std::string> shown;  // the first differences
  std::string ended;  // why not all was asked; empty: all was

  // Held to a baseline: what it has and no longer conforms, what conforms and it lacks, what of it was not asked.
  struct BaselineDiff {
    std::vector<std::string> worse;  // "add.0 (CPU:CLANG): expander is different now"
    size_t better = 0, not_asked = 0;
  };
  std::optional<BaselineDiff> held;

  ConformCounts total() const;
  // Holds what conforms to a file of write_baseline's. Errors: it is not there, or cannot be read.
  Status compare_to_baseline(const std::string& file);
  // Writes what conforms; of a file that is there what was not asked now is kept.
  Status write_baseline(const std::string& file) const;
  // `paint`: with colours of a terminal.
  std::string text(bool paint = false) const;
  std::string json() const;
};

// Asks of every stage of the records in each of the files ("FILE" or "FILE#ID"). Errors: what cannot be read, a record
// or a stage that is not there, a command that cannot be started. A command that fails again and again ends the report
// early.
Result<ConformReport> conform(const Session& session, const std::vector<std::string>& goldens, const ConformPlan& plan);

}  // namespace tgc
