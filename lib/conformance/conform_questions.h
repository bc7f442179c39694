// The questions that `tgc conform` asks about a record: one per stage, about the graph before the stage.
#pragma once
#include <string>
#include <vector>

#include "lib/text/golden.h"

namespace tgc {

// A question. The stages `linear` and `source` do not rewrite a graph: they make a list of it, and source of the list.
struct Question {
  enum class After : uint8_t { Graph, List, Source };

  std::string stage;
  std::string before;      // the graph or list before the stage, in any format
  std::string_view after;  // the expected result, a view of the record
  After kind = After::Graph;
  std::string after_json = {};  // the expected graph as JSON with the facts that pyrender omits; empty: not known
};

// Returns the questions about a record, which must outlive them. Recorded pyrender texts lack facts such as the dtype
// of a LOAD. So tgc compiles records of 0.12.0 again, and uses its graphs, which have all facts, in questions and
// expected answers as long as they print like the recorded graphs. The questions `linear` and `source` exist only for
// records of 0.12.0, and `source` only if `with_source` is set.
std::vector<Question> questions_of(const GoldenRecord& r, const GoldenHeader& header, bool with_source);

}  // namespace tgc
