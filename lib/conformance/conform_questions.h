// The questions that `tgc conform` asks about a record: one per stage, about the graph before the stage.
#pragma once
#include <string>
#include <vector>

#include "lib/text/golden.h"

namespace tgc {

// A question. `linear` and `source` are no rewrites: they make a list from a graph, and a source from the list.
struct Question {
  enum class After : uint8_t { Graph, List, Source };

  std::string stage;
  std::string before;      // the graph or list to start from, in any format
  std::string_view after;  // the expected result, a view of the record
  After kind = After::Graph;
  std::string after_json = {};  // the expected graph as JSON with what pyrender omits; empty: tgc does not know it
};

// Returns the questions about a record, which must outlive them. Recorded pyrender texts lack facts such as the dtype
// of a LOAD. So the native pipeline compiles records of 0.12.0 again; as long as its graphs print like the recorded
// ones, the questions and expected answers use its graphs, which have all facts. `linear` and `source` are asked about
// such records only, and `source` only if `with_source`.
std::vector<Question> questions_of(const GoldenRecord& r, const GoldenHeader& header, bool with_source);

}  // namespace tgc
