// What `tgc conform` asks about a record: each of its stages, of the graph that there was before it.
#pragma once
#include <string>
#include <vector>

#include "lib/text/golden.h"

namespace tgc {

// The last two stages of a kernel are no rewrites: `linear` makes a list of a graph, `source` a text of the list.
struct Question {
  enum class After : uint8_t { Graph, List, Source };

  std::string stage;
  std::string before;        // a graph or a list, as a text of any kind
  std::string_view after;    // as it was recorded, part of the record
  After kind = After::Graph;
  std::string all = {};      // what was recorded, with the facts that its letters leave out; empty: not known
};

// The questions about a record, which must outlive them. tinygrad's letters leave facts out, such as the dtype of a
// LOAD: the pipeline here makes the graphs of a record of 0.12.0 anew from its AST, and where its letters are the
// record's it is its graph, which has all facts, that is asked about, and that answers with all facts are held to.
// `linear` and `source` are asked of such records alone, `source` only `with_source`.
std::vector<Question> questions_of(const GoldenRecord& r, const GoldenHeader& header, bool with_source);

}  // namespace tgc
