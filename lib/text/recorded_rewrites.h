// Reads the rule matches that `tinygrad_export.py --rewrites` recorded:
// {"nodes":[...],"list":[[stage,place,before,after],...]}. `stage` is an index into the record's stages, `place` is the
// source line of the rule. `before` and `after` are indices into "nodes", which are nodes in tgc's JSON of a graph.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

struct RecordedMatch {
  size_t stage = 0;
  std::string place;  // source line of the rule: "uop/symbolic.py:217"
  UOp before, after;
};

// Parses `json`; makes the nodes in `graph`. `producer` is the recording's release; `file` is its name in messages.
Result<std::vector<RecordedMatch>> read_rewrites(Graph& graph, std::string_view json, std::string_view producer,
                                                 std::string_view file);

}  // namespace tgc
