// The questions of `tgc conform` about a record: one for each stage, with the graph before the stage.
#pragma once
#include <string>
#include <vector>

#include "lib/records/golden.h"

namespace tgc {

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
