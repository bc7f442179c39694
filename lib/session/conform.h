// A port of the compiler, judged stage by stage: a program is asked what it makes of the graph that the reference had
// before a stage, and its answer is compared with what the reference had after it. Each stage is judged on its own: the
// next one is asked of the reference's graph, whatever the answer was.
//
// A question is a line of JSON, an answer too (README.md):
//   {"id":"add.0","stage":"expander","target":"CPU:CLANG","settings":{"NOOPT":"1"},"graph":{"format":"tgc-graph",...}}
//   {"graph":"..."} a text that tgc reads, or an object of tgc's JSON; {"not_supported":true}; {"error":"..."}
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/inspect/graph_diff.h"
#include "lib/session/session.h"
#include "lib/text/graph_map.h"

namespace tgc {

enum class ConformAs : uint8_t { Text, Structure, Values };  // to the letter, but for names, by what it computes

struct ConformPlan {
  std::string command;
  ConformAs as = ConformAs::Text;
  std::string stage, id;  // that stage, that record alone; empty: all
  GraphMap map;  // of the answers' JSON
  DiffStyle style = {};
  size_t show = 3;  // first differences, in detail
  double seconds = 60;  // for an answer
};

struct ConformCounts {
  size_t same = 0, different = 0, not_supported = 0, errors = 0;
  size_t asked() const { return same + different + not_supported + errors; }
};

struct ConformReport {
  std::vector<std::pair<std::string, ConformCounts>> stages;  // in the order in which they were first asked
  std::vector<std::string> shown;  // the first differences
  std::set<std::string> same;  // "ID TARGET STAGE" each
  std::vector<std::string> worse;  // of a baseline that had them

  ConformCounts total() const;
  // Compares with what a file of an earlier run says, or writes it where there is none. Errors: it cannot be read or
  // written.
  Status hold_to(const std::string& file);
  std::string text() const;
  std::string json() const;
};

// Asks of every stage of the records in each of the files. Errors: what cannot be read, a command that cannot be
// started, or that ends.
Result<ConformReport> conform(const Session& session, const std::vector<std::string>& goldens, const ConformPlan& plan);

}  // namespace tgc
