// The matches that `tinygrad_export.py --rewrites` records: {"nodes":[...],"list":[[stage,place,before,after],...]},
// where `stage` counts the stages of the record and `before` and `after` are nodes, as in tgc's JSON of a graph.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/result.h"
#include "lib/uop/graph.h"

namespace tgc {

struct RecordedMatch {
  size_t stage = 0;
  std::string place;  // of the rule: "uop/symbolic.py:217"
  UOp before, after;
};

// `producer` as in the header of the recording. `file` names the input in messages.
Result<std::vector<RecordedMatch>> read_rewrites(Graph& graph, std::string_view json, std::string_view producer,
                                                 std::string_view file);

}  // namespace tgc
